
// The list on the page: reads the controls and draws the rows.
(() => {
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement;

  const make = (tag, className, ...children) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    node.append(...children);
    return node;
  };
  // On narrow screens the table is drawn as cards; roles and labels keep it a table for everyone.
  const cell = (tag, role, className, label, ...children) => {
    const node = make(tag, className, ...children);
    node.setAttribute("role", role);
    if (label) node.dataset.label = label;
    return node;
  };
  // Long names may be broken where their parts meet.
  const breakable = (name) => name.split(/(?<=[_\-./])/).flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part]));
  const count = (n) => n.toLocaleString("en");
  // Shares come in thousandths; the text is the same as in the static part of the page.
  const percent = (thousandths) => {
    if (thousandths < 1) return thousandths > 0 ? "<0.1%" : "0%";
    if (thousandths > 999) return thousandths < 1000 ? ">99.9%" : "100%";
    return thousandths < 100 || thousandths > 990 ? `${(thousandths / 10).toFixed(1)}%` : `${Math.round(thousandths / 10)}%`;
  };

  // Theme ------------------------------------------------------------------------------------------------------------
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const nameTheme = () => $("theme").setAttribute("aria-pressed", String(isDark()));
  $("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("maskdiff-theme", root.dataset.theme); } catch { /* the choice is not stored */ }
    nameTheme();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);
  nameTheme();

  if (!$("list")) return;
  const list = anomalies(JSON.parse($("data").textContent));
  const { data } = list;
  const isText = data.marks.length > 0;

  // What is shown ----------------------------------------------------------------------------------------------------
  const narrow = matchMedia("(max-width: 44rem)").matches;
  const start = {
    find: "", odd: -1, group: -1, pattern: -1, sort: "score", descending: true, page: 1, size: 25,
    view: $("view").dataset.wide === "1" && !narrow ? "ranked" : "reasons",
  };
  let state = { ...start };
  let rows = [];
  let onScreen = null; // the state to restore after printing

  const expectation = (detail) => {
    if (detail.asExpected) return [`the most likely, but only ${percent(detail.probability)}`];
    return ["expected ", make("span", "value", isText ? `“${detail.expected}”` : detail.expected), ` (${percent(detail.probability)})`];
  };

  // Cells are made of text nodes only: a value that contains markup is shown as text.
  const reason = (detail) => {
    const column = isText ? [] : [make("span", "column", detail.name), " "];
    const item = make("li", "odd", make("span", "share", percent(detail.share)), " ", ...column, make("span", "value", detail.value));
    if (detail.unseen) item.append(" ", make("span", "tag", "new"));
    item.append(" ", make("span", "expected", ...expectation(detail)));
    item.style.setProperty("--s", (detail.share / 10).toFixed(1));
    return item;
  };

  const reasons = (row) => {
    const odd = list.cells(row).filter((detail) => detail.odd);
    const box = cell("td", "cell", "", "", make("ul", "cells", ...odd.map(reason)));
    if (isText && list.pieces(row).length) box.prepend(make("p", "text value", ...list.pieces(row).map((piece) => shaded(piece, list.cells(row)))));
    if (list.more(row)) box.append(make("p", "more", `and ${count(list.more(row))} more`));
    return [box];
  };

  // The node of a piece of a text: plain, shaded, or the note for what is left out.
  const shaded = ({ text, strength, cell: at }, details) => {
    if (strength < 0) return make("span", "gap", text);
    if (!strength && at < 0) return document.createTextNode(text);
    const mark = make("mark", details[at]?.odd ? "odd" : "", text);
    mark.style.setProperty("--s", strength.toFixed(2));
    return mark;
  };

  const tips = new WeakMap();
  const explain = (node, detail, row) => {
    node.classList.add("explained");
    tips.set(node, { detail, row });
    if (detail.odd) {
      node.classList.add("odd");
      node.tabIndex = 0;
      node.append(make("span", "hidden", `, odd: ${percent(detail.share)} of the score, `, ...expectation(detail)));
    }
    return node;
  };

  // A whole text; its explained tokens show what was expected there.
  const wholeText = (row) => {
    const pieces = list.pieces(row), details = list.cells(row);
    if (!pieces.length) return reasons(row);
    const text = make("p", "text value", ...pieces.map((piece) => {
      const node = shaded(piece, details);
      return piece.cell < 0 ? node : explain(node, details[piece.cell], row);
    }));
    return [cell("td", "cell", "", "", text)];
  };

  const fullCell = (row, field, explained) => {
    const detail = explained.get(field);
    const value = detail ? detail.value : list.text(data.columns[field], row);
    if (value === undefined) return cell("td", "cell", "not-kept", "", "·");
    const td = cell("td", "cell", "value cell", "", value);
    td.style.setProperty("--s", (detail ? detail.share / 10 : list.share(row, field)).toFixed(1));
    if (!detail) {
      if (value.length > 24) td.title = value;
      return td;
    }
    return explain(td, detail, row);
  };

  const full = (fields) => (row) => {
    const explained = new Map(list.cells(row).map((detail) => [detail.field, detail]));
    return fields.map((field) => fullCell(row, field, explained));
  };

  const asGiven = data.columns.map((_, field) => field);
  const columnHeads = (fields) => fields.map((field) => [data.columns[field].name, `column:${field}`, "value"]);
  const views = {
    reasons: { heads: [[data.reasonsHeading]], cells: reasons },
    ranked: { heads: columnHeads(data.order), cells: isText ? wholeText : full(data.order) },
    given: { heads: columnHeads(asGiven), cells: full(asGiven) },
  };

  const head = ([label, sort, className]) => {
    const th = cell("th", "columnheader", className || "", "");
    th.scope = "col";
    // Browsers repeat the table head on each printed sheet, but without its buttons: paper gets plain text.
    if (!sort || onScreen) th.append(label);
    else {
      const button = make("button", "sort", ...breakable(label));
      button.type = "button";
      button.dataset.sort = sort;
      th.append(button);
      if (state.sort === sort) th.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
    }
    return th;
  };

  const line = (row) => {
    const number = cell("th", "rowheader", "num fixed", "row", String(data.number[row]));
    number.scope = "row";
    return cell(
      "tr", "row", "", "",
      cell("td", "cell", "num", "#", count(row + 1)), number,
      ...data.context.map((column) => cell("td", "cell", "aside value", "", list.text(column, row))),
      cell("td", "cell", "num", "score", data.score[row].toFixed(3)), cell("td", "cell", "num", "p", data.pTexts[data.p[row]]),
      ...views[state.view].cells(row),
    );
  };

  const describe = (first, last) => {
    if (!rows.length) return "No anomaly matches.";
    const of = rows.length === list.total ? count(list.total) : `${count(rows.length)} that match, of ${count(list.total)}`;
    return `Anomalies ${count(first + 1)} to ${count(last)} of ${of}`;
  };

  const render = () => {
    const pages = Math.max(1, Math.ceil(rows.length / state.size));
    state.page = Math.min(Math.max(1, state.page), pages);
    const first = (state.page - 1) * state.size, last = Math.min(rows.length, first + state.size);
    const heads = [
      ["Rank", "score", "num"], ["Row", "number", "num fixed"],
      ...data.context.map((column, at) => [column.name, `context:${at}`, "aside value"]),
      ["Score", "score", "num"], ["p-value", "", "num"], ...views[state.view].heads,
    ];
    const table = $("list");
    table.className = `list ${state.view === "reasons" || isText ? "reasons" : "full"}`;
    table.tHead.replaceChildren(cell("tr", "row", "", "", ...heads.map(head)));
    // Two columns sort by the score; only one of them is marked as sorted.
    table.tHead.querySelector("th").removeAttribute("aria-sort");
    table.tBodies[0].replaceChildren(...rows.slice(first, last).map(line));
    $("status").textContent = describe(first, last);
    table.caption.textContent = describe(first, last);
    $("page").value = state.page;
    $("page").max = pages;
    $("of-pages").textContent = `of ${count(pages)}`;
    for (const button of document.querySelectorAll("[data-go]")) {
      const back = ["first", "previous"].includes(button.dataset.go);
      button.setAttribute("aria-disabled", String(back ? state.page === 1 : state.page === pages));
    }
    $("chosen-group").hidden = state.group < 0;
    hideTip();
  };

  const update = (change) => {
    state = { ...state, page: 1, ...change };
    rows = list.choose(state);
    render();
  };

  // Controls ---------------------------------------------------------------------------------------------------------
  let waiting;
  $("controls").addEventListener("submit", (event) => event.preventDefault());
  $("find").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => update({ find: $("find").value }), 120);
  });
  $("odd-column").addEventListener("change", (event) => update({ odd: event.target.value === "" ? -1 : Number(event.target.value) }));
  $("view").addEventListener("change", (event) => { state.view = event.target.value; render(); });
  $("size").addEventListener("change", (event) => { state.size = Number(event.target.value); state.page = 1; render(); });
  $("reset").addEventListener("click", () => {
    $("find").value = "";
    $("odd-column").value = "";
    update({ ...start, view: state.view, size: state.size });
  });

  const go = { first: () => 1, previous: (page) => page - 1, next: (page) => page + 1, last: () => Infinity };
  document.querySelector(".pages").addEventListener("click", (event) => {
    const button = event.target.closest("[data-go]");
    if (!button || button.getAttribute("aria-disabled") === "true") return;
    state.page = go[button.dataset.go](state.page);
    render();
  });
  $("page").addEventListener("change", () => { state.page = Math.floor(Number($("page").value)) || 1; render(); });

  // A second click reverses the order. Scores start with the highest, everything else with the lowest.
  $("list").tHead.addEventListener("click", (event) => {
    const button = event.target.closest("[data-sort]");
    if (!button) return;
    const { sort } = button.dataset;
    const nth = [...$("list").tHead.querySelectorAll(".sort")].indexOf(button);
    update({ sort, descending: state.sort === sort ? !state.descending : sort === "score" });
    $("list").tHead.querySelectorAll(".sort")[nth].focus();
  });

  for (const button of document.querySelectorAll("#groups button")) {
    button.disabled = false;
    button.addEventListener("click", () => {
      const cells = button.closest("tr").cells;
      const value = button.dataset.pattern === undefined ? "" : `: ${button.querySelector(".value").textContent}`;
      update({ group: Number(button.dataset.group), pattern: Number(button.dataset.pattern ?? -1) });
      $("chosen-group").firstElementChild.textContent = `Only the group ${cells[0].textContent.trim()}${value}`;
      $("anomalies").scrollIntoView();
      $("chosen-group").querySelector("button").focus({ preventScroll: true });
    });
  }
  $("chosen-group").querySelector("button").addEventListener("click", () => {
    update({ group: -1, pattern: -1 });
    $("find").focus({ preventScroll: true });
  });

  // The tooltip of the cell under the pointer or with the focus --------------------------------------------------------
  const tip = $("tip");
  const hideTip = () => { tip.hidden = true; };
  const showTip = (td) => {
    const { detail, row } = tips.get(td);
    const part = ((detail.share / 1000) * data.score[row]).toFixed(3);
    tip.replaceChildren(
      make("p", "", ...(isText ? [] : [make("strong", "value", detail.name), " is "]), make("strong", "value", detail.value)),
      make("p", "", ...expectation(detail)),
      make("p", "", `${percent(detail.share)} of the score (${part} ${data.unit})`),
    );
    if (detail.unseen) tip.append(make("p", "", `a new ${data.value}: never seen in training`));
    tip.hidden = false;
    const at = td.getBoundingClientRect(), { offsetWidth: width, offsetHeight: height } = tip;
    const above = at.top - height - 8;
    tip.style.left = `${Math.max(8, Math.min(at.left, innerWidth - width - 8))}px`;
    tip.style.top = `${above > 8 ? above : at.bottom + 8}px`;
  };
  const explained = (event) => event.target.closest?.(".explained");
  for (const type of ["mouseover", "focusin"]) {
    $("list").addEventListener(type, (event) => (explained(event) ? showTip(explained(event)) : hideTip()));
  }
  for (const type of ["mouseleave", "focusout"]) $("list").addEventListener(type, hideTip);
  $("list-box").addEventListener("scroll", hideTip);
  addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });

  // Paper has no tooltips: it gets the first of the selected rows with their reasons -----------------------------------
  addEventListener("beforeprint", () => {
    onScreen = state;
    state = { ...state, view: "reasons", page: 1, size: 50 };
    render();
  });
  addEventListener("afterprint", () => {
    if (onScreen) state = onScreen;
    onScreen = null;
    render();
  });

  $("view").value = state.view;
  update({});
})();
