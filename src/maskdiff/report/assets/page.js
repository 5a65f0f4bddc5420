
// The list on the page: reads the controls and draws the rows.
(async () => {
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
  const nameTheme = () => { $("theme").textContent = isDark() ? "Light theme" : "Dark theme"; }; // what a click brings
  $("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("maskdiff-theme", root.dataset.theme); } catch { /* the choice is not stored */ }
    nameTheme();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);
  nameTheme();

  // On narrow screens tables are drawn as cards: each cell gets the name of its column, and roles keep it a table.
  const roles = { THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TD: "cell" };
  for (const table of document.querySelectorAll("table.stack")) {
    const names = [...table.tHead.rows[0].cells].map((head) => head.textContent);
    table.setAttribute("role", "table");
    for (const node of table.querySelectorAll("thead, tbody, tr, td, th")) {
      node.setAttribute("role", roles[node.tagName] ?? (node.scope === "row" ? "rowheader" : "columnheader"));
      if (node.matches("tbody td.num")) node.dataset.label = names[node.cellIndex];
    }
  }

  // Anomalies over time: by the column of dates that is chosen.
  $("time-column")?.addEventListener("change", (event) => {
    document.querySelectorAll("#time .timeline").forEach((node, at) => { node.hidden = at !== Number(event.target.value); });
  });

  const ready = () => { root.dataset.ready = "yes"; };
  if (!$("list")) return ready();
  let data;
  try { data = await unpack($("data").textContent); } catch {
    root.classList.remove("js"); // the page works as it does without scripts
    return ready();
  }
  const list = anomalies(data);
  const reviewed = reviewedRows(data.digest);
  const { isText } = data;

  // What is shown ----------------------------------------------------------------------------------------------------
  const narrow = matchMedia("(max-width: 44rem)").matches;
  const start = {
    find: "", odd: -1, oddity: -1, group: -1, pattern: -1, sort: "score", descending: true, page: 1, size: 25, near: false,
    rate: data.ownRate, limit: Math.min(data.rates[data.ownRate].n, list.total), keeps: () => true,
    view: $("view").dataset.wide === "1" && !narrow ? "ranked" : "reasons",
  };
  let state = { ...start };
  let rows = [];
  let onScreen = null; // the state to restore after printing

  const expectation = (detail) => {
    if (!detail.expected) return [];
    if (detail.asExpected) return [`the most likely, but only ${percent(detail.probability)}`];
    return ["expected ", make("span", "value", isText ? `“${detail.expected}”` : detail.expected), ` (${percent(detail.probability)})`];
  };

  // What a cell holds: a text in its pieces, any other value as it is.
  const content = (detail) => (detail.pieces.length ? detail.pieces.map((piece) => shaded(piece, [])) : [detail.value]);

  // Cells are made of text nodes only: a value that contains markup is shown as text.
  const reason = (detail) => {
    const column = isText ? [] : [make("span", "column", detail.name), " "];
    const item = make("li", "odd", make("span", "share", percent(detail.share)), " ", ...column, make("span", "value", ...content(detail)));
    if (detail.unseen) item.append(" ", make("span", "tag", "new"));
    item.append(" ", make("span", "expected", ...expectation(detail)));
    if (detail.contradicts) item.append(" ", make("span", "cell-note", `contradicts ${detail.contradicts}`));
    if (detail.note) item.append(" ", make("span", "cell-note", detail.note));
    item.style.setProperty("--s", (detail.share / 10).toFixed(1));
    return item;
  };

  // What makes a row odd, and whether one cell alone raised the alarm at the chosen rate.
  const oddity = (row) => {
    const whole = list.whole(row), words = data.oddities[data.oddity[row]] ?? "";
    const alone = whole !== undefined && whole <= data.rates[state.rate].threshold;
    return [words, ...(alone ? [`an anomaly by one cell alone: as a whole it scores ${whole.toFixed(3)}`] : [])].filter(Boolean).join("; ");
  };

  const reasons = (row) => {
    const odd = list.cells(row).filter((detail) => detail.odd);
    const box = cell("td", "cell", "", "", make("ul", "cells", ...odd.map(reason)));
    if (oddity(row)) box.prepend(make("p", "more", oddity(row)));
    if (isText && list.pieces(row).length) box.prepend(make("p", "text value", ...list.pieces(row).map((piece) => shaded(piece, list.cells(row)))));
    if (list.more(row).length) box.append(make("p", "more", `and ${count(list.more(row).length)} more`));
    const [normal] = list.nearest(row);
    if (normal) box.append(make("p", "nearest", "nearest normal row: ", ...differences(normal)));
    return [box];
  };

  // A normal row by where it differs.
  const differences = (normal) => {
    if (!normal.size) return ["the same"];
    return [...normal].flatMap(([field, value], i) => [
      `${i ? ", " : ""}${data.columns[field].name} `, make("b", "", value),
    ]);
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
      node.append(make("span", "hidden", `, odd: ${percent(detail.share)} of the score`, ...(detail.expected ? [", ", ...expectation(detail)] : [])));
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
    const td = cell("td", "cell", "value cell", data.columns[field].name, ...(detail ? content(detail) : [value]));
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

  // Below a row, the normal rows nearest to it: only the values that differ.
  const nearLines = (row) => {
    const { fields } = views[state.view];
    if (!state.near || !fields) return [];
    return list.nearest(row).map((normal, i) => {
      const label = cell("th", "rowheader", "num fixed", "", `normal ${i + 1}`);
      label.scope = "row";
      const lead = [cell("td", "cell", "num", ""), label, ...data.context.map(() => cell("td", "cell", "aside", "")), cell("td", "cell", "", ""), cell("td", "cell", "", "")];
      const cells = fields.map((field) => cell("td", "cell", "value near", normal.has(field) ? data.columns[field].name : "", normal.get(field) ?? "="));
      return cell("tr", "row", "near", "", ...lead, ...cells);
    });
  };

  const asGiven = data.columns.map((_, field) => field);
  const columnHeads = (fields) => fields.map((field) => [data.columns[field].name, `column:${field}`, "value"]);
  const views = {
    reasons: { heads: [[data.reasonsHeading]], cells: reasons },
    ranked: { heads: columnHeads(data.order), cells: isText ? wholeText : full(data.order), fields: isText ? null : data.order },
    given: { heads: columnHeads(asGiven), cells: full(asGiven), fields: asGiven },
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

  const seenBox = (row) => {
    const box = make("input", "");
    box.type = "checkbox";
    box.checked = reviewed.has(row);
    box.dataset.reviewed = row;
    box.setAttribute("aria-label", `Row ${data.number[row]} is reviewed`);
    return make("label", "seen", box);
  };

  const line = (row) => {
    const number = cell("th", "rowheader", "num fixed", "row", String(data.number[row]));
    number.scope = "row";
    if (oddity(row)) number.title = oddity(row);
    return cell(
      "tr", "row", reviewed.has(row) ? "reviewed" : "", "",
      cell("td", "cell", "num", "#", count(row + 1), ...(onScreen ? [] : [seenBox(row)])), number,
      ...data.context.map((column) => cell("td", "cell", "aside value", "", list.text(column, row))),
      cell("td", "cell", "num", "score", data.score[row].toFixed(3)), cell("td", "cell", "num", "p", data.pTexts[data.p[row]]),
      ...views[state.view].cells(row),
    );
  };

  const describe = (first, last) => {
    if (!state.limit) return "No anomalies at this rate.";
    if (!rows.length) return "No anomaly matches.";
    const of = rows.length === state.limit ? count(state.limit) : `${count(rows.length)} that match, of ${count(state.limit)}`;
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
    table.tBodies[0].replaceChildren(...rows.slice(first, last).flatMap((row) => [line(row), ...nearLines(row)]));
    $("list-box").hidden = !rows.length;
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
  $("oddity")?.addEventListener("change", (event) => update({ oddity: event.target.value === "" ? -1 : Number(event.target.value) }));
  $("view").addEventListener("change", (event) => { state.view = event.target.value; render(); });
  $("size").addEventListener("change", (event) => { state.size = Number(event.target.value); state.page = 1; render(); });
  $("reset").addEventListener("click", () => {
    for (const id of ["find", "odd-column", "oddity", "show-reviewed"]) if ($(id)) $(id).value = "";
    const { view, size, near, rate, limit } = state;
    update({ ...start, view, size, near, rate, limit });
  });
  $("near")?.addEventListener("change", (event) => { state.near = event.target.checked; render(); });

  // Rows are chosen again when the filter changes, not while they are being marked: none vanishes under the pointer.
  const keepers = { "": () => true, open: (row) => !reviewed.has(row), done: (row) => reviewed.has(row) };
  $("show-reviewed").addEventListener("change", (event) => update({ keeps: keepers[event.target.value] }));
  $("list").addEventListener("change", (event) => {
    const { reviewed: row } = event.target.dataset;
    if (row === undefined) return;
    reviewed.mark(Number(row), event.target.checked);
    event.target.closest("tr").classList.toggle("reviewed", event.target.checked);
  });
  $("save").addEventListener("click", () => saveText(asCsv(list, rows, reviewed.has), "anomalies.csv"));

  // Another false-alarm rate: the list, and every count on the page that follows it --------------------------------------
  const written = new Map(); // the texts of the page as it was written, at the report's own rate
  const follow = (node, text) => {
    if (!written.has(node)) written.set(node, node.textContent);
    node.textContent = text;
  };
  const recount = (limit) => {
    const groups = new Map(), patterns = new Map(), add = (map, key) => map.set(key, (map.get(key) ?? 0) + 1);
    for (let row = 0; row < limit; row += 1) {
      add(groups, data.group[row]);
      add(patterns, `${data.group[row]},${data.pattern[row]}`);
    }
    for (const button of document.querySelectorAll("#groups button[data-group]")) {
      const { group, pattern } = button.dataset, line = button.closest("tr"), n = groups.get(Number(group)) ?? 0;
      if (pattern !== undefined) follow(button.querySelector(".times"), `${count(patterns.get(`${group},${pattern}`) ?? 0)}×`);
      else {
        follow(line.querySelector("[data-part=size]"), count(n));
        follow(line.querySelector("[data-part=share]"), percent(limit ? Math.round((1000 * n) / limit) : 0));
      }
    }
    const nOdd = (key) => { let n = 0; for (let row = 0; row < limit; row += 1) n += list.isOdd(row, key); return count(n); };
    for (const node of document.querySelectorAll("[data-odd]")) follow(node, nOdd(Number(node.dataset.odd)));
    for (const option of $("odd-column").options) {
      if (option.value === "") continue;
      const n = nOdd(Number(option.value));
      follow(option, `${option.dataset.name} (${n})`);
      option.hidden = n === "0";
    }
  };
  const moveThreshold = (threshold) => {
    for (const plot of document.querySelectorAll("#scores .plot")) {
      const [low, high] = plot.dataset.axis.split(" ").map(Number), x = (1000 * (threshold - low)) / (high - low);
      plot.querySelector("path.threshold").setAttribute("d", `M${x} 0V240`);
      plot.querySelector(".threshold-label").style.left = `${x / 10}%`;
      for (const bar of plot.querySelectorAll("rect")) {
        bar.setAttribute("class", Number(bar.getAttribute("x")) + Number(bar.getAttribute("width")) / 2 > x ? "alarm" : "");
      }
    }
  };
  $("rate").addEventListener("change", (event) => {
    const at = Number(event.target.value), chosen = data.rates[at], limit = Math.min(chosen.n, list.total);
    for (const node of document.querySelectorAll("[data-follows]")) follow(node, chosen[node.dataset.follows]);
    moveThreshold(chosen.threshold);
    if (at !== data.ownRate) recount(limit);
    else for (const [node, text] of written) {
      node.textContent = text;
      if (node.tagName === "OPTION") node.hidden = text.endsWith(" (0)");
    }
    for (const node of document.querySelectorAll(".own-rate")) node.hidden = at === data.ownRate;
    for (const node of document.querySelectorAll(".at-own-rate")) node.hidden = at !== data.ownRate;
    update({ rate: at, limit });
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
    if (detail.contradicts) tip.append(make("p", "", `contradicts ${detail.contradicts}`));
    if (detail.note) tip.append(make("p", "", detail.note));
    else if (detail.unseen) tip.append(make("p", "", `a new ${data.value}: never seen in training`));
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
  ready();
})();
