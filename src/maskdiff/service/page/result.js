// A result: the rows in order, shaded, with what was expected; filters, pages, the slider, and the sections of the report.
import { download, get, post } from "./api.js";
import { $, count, heading, interval, make, pValue, percent, plural, rate, say, score, stack } from "./dom.js";
import { openStory } from "./story.js";

const narrow = matchMedia("(max-width: 44rem)");
const MOST_OPEN = 12; // up to this many columns the list opens with all of them
const PAGE_SIZES = [10, 25, 50, 100];

// What the address says, and what it leaves out because it is usual.
const usual = { shown: "all", rate: "", search: "", column: "", contains: "", odd: "", group: "", sort: "rank", descending: "", page: "1", size: "25", view: "", row: "" };
const stateOf = (query) => Object.fromEntries(Object.entries(usual).map(([name, value]) => [name, query.get(name) ?? value]));
const queryOf = (state) => new URLSearchParams(Object.entries(state).filter(([name, value]) => String(value) !== usual[name]));

export const resultView = async ({ id, query, signal }) => {
  let facts = await get(`/results/${id}`, { signal });
  const { sections } = facts;
  const isText = sections.parts !== "columns";
  const state = stateOf(query);
  if (!state.view) state.view = facts.columns.length <= MOST_OPEN && !narrow.matches && !isText ? "all" : "reasons";
  let page = { rows: [], matched: 0, of: 0 };

  const filters = () => {
    const given = Object.fromEntries(["shown", "rate", "search", "odd", "group", "sort", "descending"].map((name) => [name, state[name]]));
    if (state.column && state.contains) Object.assign(given, { column: state.column, contains: state.contains });
    return new URLSearchParams(Object.entries(given).filter(([, value]) => value !== ""));
  };
  const remember = () => history.replaceState(null, "", `#/result/${id}?${queryOf(state)}`);

  // The top ------------------------------------------------------------------------------------------------------------
  const alarmsAt = () => (state.rate === "" ? facts.found : (facts.rates.find(([one]) => String(one) === state.rate) ?? [0, 0])[1]);
  const figure = (name, ...value) => make("div", { class: name === "Alarms" || name === "Found" ? "alarm" : "" }, make("dt", {}, name), make("dd", {}, ...value));
  const figures = make("dl", { class: "figures" });
  const lede = make("p", { class: "lede" });
  const drawTop = () => {
    const n = alarmsAt(), searched = facts.task === "find";
    const name = searched && state.rate === "" ? "Found" : "Alarms";
    figures.replaceChildren(figure("Rows", count(facts.rows)), figure(name, count(n), " ", make("small", {}, percent(n / Math.max(1, facts.rows)))),
      ...(searched ? [figure("Odd, about", count(facts.estimated_odd.number), " ", make("small", {}, `${count(facts.estimated_odd.low)} to ${count(facts.estimated_odd.high)}`))]
        : [figure("Threshold", score(sections.threshold), " ", make("small", {}, sections.unit_short))]),
      figure("Judged fine", count(facts.dismissed)));
    if (searched && !facts.alarms) lede.textContent = `No row is so odd that at most ${rate(facts.false_discovery_rate)} of those reported would be normal. The oddest rows come first. What stands below the list is about alarms at a false-alarm rate of ${rate(sections.rate)}.`;
    else if (searched) lede.replaceChildren(make("strong", {}, `${count(facts.alarms)} of ${plural(facts.rows, "row")}`), ` ${facts.alarms === 1 ? "is" : "are"} odd; on average at most ${rate(facts.false_discovery_rate)} of those found are normal.`);
    else lede.replaceChildren(make("strong", {}, n ? `${count(n)} of ${plural(facts.rows, "row")}` : "No row"), ` ${n > 1 ? "stand" : "stands"} out from what the model `, make("span", { class: "value name" }, facts.model ?? ""), " learned as normal.");
    if (!searched && n > facts.rows / 2) lede.append(" More than half of all rows stand out: they may be of another kind than those the model learned from.");
  };

  // The slider -----------------------------------------------------------------------------------------------------------
  const steps = facts.rates;
  const nearest = () => {
    if (state.rate !== "") return Math.max(0, steps.findIndex(([one]) => String(one) === state.rate));
    const at = steps.findIndex(([one, n]) => (facts.task === "find" ? n >= facts.found : one >= sections.rate));
    return at < 0 ? steps.length - 1 : at;
  };
  const slider = make("input", { type: "range", id: "rate", min: "0", max: String(Math.max(0, steps.length - 1)), step: "1" });
  const saidRate = make("output", { for: "rate", id: "rate-said" });
  const drawRate = () => {
    slider.value = nearest();
    const said = state.rate === "" ? (facts.task === "find" ? `${plural(facts.found, "row")} found` : `${rate(sections.rate)} of normal rows: ${plural(facts.found, "alarm")}`)
      : `${rate(Number(state.rate))} of normal rows: ${plural(alarmsAt(), "alarm")}`;
    saidRate.textContent = said;
    slider.setAttribute("aria-valuetext", said);
  };
  slider.addEventListener("input", () => {
    state.rate = String(steps[Number(slider.value)][0]);
    drawRate();
    drawTop();
    soon({ page: "1", ...(state.shown === "all" ? { shown: "alarms" } : {}) });
  });

  // The list -------------------------------------------------------------------------------------------------------------
  const cell = (tag, role, given, ...children) => make(tag, { role, ...given }, ...children);
  const expected = (one) => (one.expected && one.expected !== one.value ? [make("span", { class: "expected" }, "expected ", make("span", { class: "value" }, interval(one.expected)), one.expected_probability ? ` (${percent(one.expected_probability)})` : "")] : []);
  const reason = (one) => make("li", { class: "odd", shade: (100 * one.share).toFixed(1) },
    make("span", { class: "share" }, percent(Math.max(0, one.share))), " ", ...(isText ? [] : [make("span", { class: "column" }, one.column), " "]),
    make("span", { class: "value" }, one.value ?? "missing"), " ", expected(one),
    one.contradicts ? [" ", make("span", { class: "cell-note" }, `contradicts ${one.contradicts}`)] : [], one.note ? [" ", make("span", { class: "cell-note" }, one.note)] : []);
  const important = (row) => (row.cells ?? []).filter((one, at) => at < 4 && (one.share > 0.05 || at === 0));

  // A text with its odd words shaded: by pieces where the model gave them, else by the places of its reasons.
  const shaded = (row) => {
    if (row.pieces?.length) return row.pieces.map((piece) => (piece.strength > 0.02 ? make("mark", { shade: piece.strength.toFixed(2) }, piece.text) : piece.text));
    const text = row.values[facts.columns.indexOf(row.cells?.[0]?.column)] ?? row.values.find((value) => value) ?? "";
    const most = Math.max(...(row.cells ?? []).map((one) => one.share), 0.001), parts = [];
    let at = 0;
    for (const one of [...(row.cells ?? [])].filter((found) => found.start !== undefined).sort((a, b) => a.start - b.start)) {
      if (one.start < at) continue;
      parts.push(text.slice(at, one.start), make("mark", { shade: Math.max(0, one.share / most).toFixed(2), title: one.expected ? `expected ${one.expected}` : undefined }, text.slice(one.start, one.end)));
      at = one.end;
    }
    return [...parts, text.slice(at)];
  };

  const reasons = (row) => [cell("td", "cell", {}, isText ? make("p", { class: "text value" }, shaded(row)) : null,
    row.oddity ? make("p", { class: "more" }, row.oddity) : null, make("ul", { class: "cells" }, important(row).map(reason)))];
  const whole = (row) => {
    const found = new Map((row.cells ?? []).map((one) => [one.column, one]));
    const first = new Set(important(row).map((one) => one.column));
    return facts.columns.map((name, at) => {
      const one = found.get(name);
      return cell("td", "cell", { class: `value cell${first.has(name) ? " odd" : ""}`, shade: one ? (100 * one.share).toFixed(1) : undefined, data: { label: name } },
        row.values[at] ?? make("span", { class: "note" }, "missing"), one && first.has(name) ? make("span", { class: "beside" }, expected(one)) : null);
    });
  };
  const line = (row) => cell("tr", "row", { class: row.dismissed ? "reviewed" : "" },
    cell("td", "cell", { class: "num", data: { label: "#" } }, count(row.rank)),
    cell("th", "rowheader", { scope: "row", class: "num fixed", data: { label: "row" } },
      make("button", { class: "sort row-button", type: "button", "aria-label": `Row ${row.row}: the whole story`, onclick: () => story(row.row) }, String(row.row))),
    cell("td", "cell", { class: "num", data: { label: "score" } }, score(row.score)), cell("td", "cell", { class: "num", data: { label: "p" } }, pValue(row.p_value)),
    ...(state.view === "all" ? whole(row) : reasons(row)));
  const head = ([label, sort, className]) => {
    const th = cell("th", "columnheader", { scope: "col", class: className ?? "" });
    if (!sort) th.append(label);
    else {
      th.append(make("button", { class: "sort", type: "button", data: { sort }, onclick: () => {
        const same = state.sort === sort;
        update({ sort, descending: same && !state.descending ? "true" : "", page: "1" }, `[data-sort="${CSS.escape(sort)}"]`);
      } }, label));
      if (state.sort === sort) th.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
    }
    return th;
  };
  const table = make("table", { id: "list", role: "table" }, make("caption", {}), make("thead", { role: "rowgroup" }), make("tbody", { role: "rowgroup" }));
  table.style.setProperty("--full", String(sections.full_shade || 50));
  table.tBodies[0].addEventListener("click", (event) => {
    const chosen = event.target.closest("tr")?.querySelector(".row-button");
    if (chosen && !event.target.closest("button") && !getSelection().toString()) chosen.click();
  });
  const box = make("div", { class: "scroll", id: "list-box", tabIndex: 0, role: "region", "aria-label": "Rows" }, table);
  const nothing = make("p", { class: "empty" });
  const status = make("p", { role: "status" });
  const pageInput = make("input", { id: "page", type: "number", min: "1", inputmode: "numeric", onchange: (event) => update({ page: String(Math.max(1, Math.floor(Number(event.target.value)) || 1)) }) });
  const ofPages = make("span", {});
  const go = (where, sign, name) => make("button", { type: "button", "aria-label": name, data: { go: where }, onclick: (event) => {
    if (event.target.getAttribute("aria-disabled") === "true") return;
    const pages = Math.max(1, Math.ceil(page.matched / Number(state.size))), at = Number(state.page);
    update({ page: String({ first: 1, previous: at - 1, next: at + 1, last: pages }[where]) });
  } }, sign);
  const pager = make("div", { class: "pager" }, status, make("div", { class: "pages", role: "group", "aria-label": "Pages" },
    go("first", "«", "First page"), go("previous", "‹", "Previous page"), make("label", {}, make("span", { class: "hidden" }, "Page"), " ", pageInput), " ", ofPages,
    go("next", "›", "Next page"), go("last", "»", "Last page")));

  const draw = () => {
    const pages = Math.max(1, Math.ceil(page.matched / Number(state.size))), first = page.offset + 1;
    const heads = [["Rank", "rank", "num"], ["Row", "row", "num fixed"], ["Score", "", "num"], ["p-value", "", "num"]];
    table.className = `list ${state.view === "all" ? "full" : "reasons"}`;
    table.tHead.replaceChildren(cell("tr", "row", {}, [...heads, ...(state.view === "all" ? facts.columns.map((name) => [name, name, "value"]) : [[isText ? "Text, and its odd words" : "Odd cells: share of the score, column, value, what was expected"]])].map(head)));
    table.tBodies[0].replaceChildren(...page.rows.map(line));
    const said = page.matched ? `Rows ${count(first)} to ${count(page.offset + page.rows.length)} of ${count(page.matched)}${page.matched < page.of ? `, of ${count(page.of)} in all` : ""}` : "No row fits.";
    status.textContent = said;
    table.caption.textContent = said;
    box.hidden = !page.matched;
    nothing.hidden = Boolean(page.matched);
    const bare = !state.search && !state.contains && !state.odd && !state.group;
    nothing.textContent = state.shown === "fine" ? "No row was judged fine yet." : state.shown === "alarms" && bare
      ? "Nothing stands out. Look at all rows, the oddest first, or move the slider to a higher rate." : "No row fits what you look for.";
    pageInput.value = state.page;
    pageInput.max = String(pages);
    ofPages.textContent = `of ${count(pages)}`;
    for (const button of pager.querySelectorAll("[data-go]")) {
      const back = ["first", "previous"].includes(button.dataset.go);
      button.setAttribute("aria-disabled", String(back ? Number(state.page) <= 1 : Number(state.page) >= pages));
    }
    chosenGroup.hidden = state.group === "";
    if (state.group !== "") chosenGroup.firstElementChild.textContent = `Only the group ${sections.group_names[Number(state.group)] || "spread over many columns"}`;
  };

  // Reading rows: only the last request counts --------------------------------------------------------------------------
  let reading = new AbortController();
  const read = async () => {
    reading.abort();
    reading = new AbortController();
    const given = filters();
    given.set("offset", String((Number(state.page) - 1) * Number(state.size)));
    given.set("limit", state.size);
    box.setAttribute("aria-busy", "true");
    try {
      page = await get(`/results/${id}/rows?${given}`, { signal: reading.signal });
    } catch (error) {
      if (error.name !== "AbortError") status.textContent = error.message;
      return false;
    }
    box.removeAttribute("aria-busy");
    return true;
  };
  const update = async (change, focus) => {
    Object.assign(state, change);
    remember();
    drawRate();
    if (await read()) {
      const pages = Math.max(1, Math.ceil(page.matched / Number(state.size)));
      if (Number(state.page) > pages) { await update({ page: String(pages) }); return; }
      draw();
      if (focus) table.querySelector(focus)?.focus();
    }
  };
  let waiting;
  const soon = (change) => {
    Object.assign(state, change);
    clearTimeout(waiting);
    waiting = setTimeout(() => update({}), 120);
  };

  // One row ----------------------------------------------------------------------------------------------------------------
  const story = (row) => {
    Object.assign(state, { row: String(row) });
    remember();
    openStory({
      id, row, facts, isText, shaded,
      neighbours: () => page.rows.map((one) => one.row),
      onMove: (to) => story(to),
      onClose: () => { state.row = ""; remember(); table.querySelector(`[aria-label="Row ${row}: the whole story"]`)?.focus(); },
      onFine: async (done) => {
        facts = await get(`/results/${id}`);
        say(`${plural(done.rows.length, "row")} judged fine`);
        drawTop();
        await update({});
      },
    });
  };

  // Controls ---------------------------------------------------------------------------------------------------------------
  const select = (label, name, choices, given = {}) => make("label", {}, `${label} `, make("select", { id: `by-${name}`, onchange: (event) => update({ [name]: event.target.value, page: "1" }), ...given },
    choices.map(([value, text]) => make("option", { value, selected: state[name] === value }, text))));
  const search = make("input", { id: "search", type: "search", autocomplete: "off", spellcheck: "false", placeholder: "any value or row number", value: state.search,
    oninput: (event) => soon({ search: event.target.value.trim(), page: "1" }) });
  const contains = make("input", { id: "contains", type: "search", autocomplete: "off", spellcheck: "false", value: state.contains, disabled: !state.column,
    oninput: (event) => soon({ contains: event.target.value.trim(), page: "1" }) });
  const names = facts.columns.map((name) => [name, name]);
  const save = make("button", { class: "quiet", type: "button", id: "save", onclick: async () => {
    try { await download(`/results/${id}/csv?${filters()}`, `${facts.file.name.replace(/\..*$/, "")}-odd-rows.csv`); } catch (error) { status.textContent = error.message; }
  } }, "Save as CSV");
  const link = make("button", { class: "quiet", type: "button", id: "link", onclick: async () => {
    try { await navigator.clipboard.writeText(location.href); link.textContent = "Link copied"; } catch { link.textContent = "Copy the address above"; }
    setTimeout(() => { link.textContent = "Copy link"; }, 2500);
  } }, "Copy link");
  const reset = make("button", { class: "quiet", type: "button", id: "reset", onclick: () => { location.hash = `#/result/${id}`; } }, "Reset");
  const controls = make("form", { class: "controls", role: "search", "aria-label": "Choose rows", onsubmit: (event) => event.preventDefault() },
    make("label", { class: "grow" }, "Find text ", search),
    select("Rows", "shown", [["all", "all"], ["alarms", facts.task === "find" ? "odd ones" : "alarms"], ["fine", "judged fine"]]),
    select("Column", "column", [["", "any"], ...names], { onchange: (event) => { contains.disabled = !event.target.value; update({ column: event.target.value, page: "1" }); } }),
    make("label", {}, "contains ", contains),
    ...(facts.task === "find" && !isText ? [select("Odd column", "odd", [["", "any"], ...names])] : []),
    ...(isText ? [] : [select("Show", "view", [["reasons", "odd cells only"], ["all", "all columns"]], { onchange: (event) => { state.view = event.target.value; remember(); draw(); } })]),
    select("Rows a page", "size", PAGE_SIZES.map((n) => [String(n), String(n)])), reset, save, link);
  const chosenGroup = make("p", { class: "chosen" }, make("span"), " ", make("button", { class: "quiet", type: "button", onclick: () => update({ group: "", page: "1" }) }, "Show all groups"));
  const sliderBox = steps.length ? make("div", { class: "slider" }, make("label", { for: "rate" }, "False-alarm rate"), slider, saidRate) : null;

  // The sections of the report -----------------------------------------------------------------------------------------
  const parts = make("div", { class: "sections" });
  for (const name of ["groups", "time", "columns", "drift", "scores"]) {
    if (!sections.html[name]) continue;
    const part = new DOMParser().parseFromString(sections.html[name], "text/html").body;
    parts.append(...part.childNodes);
  }
  for (const button of parts.querySelectorAll("#groups button")) {
    button.disabled = false;
    button.addEventListener("click", () => {
      update({ group: button.dataset.group, page: "1", shown: "all" });
      $("rows").scrollIntoView();
      chosenGroup.querySelector("button").focus({ preventScroll: true });
    });
  }
  parts.querySelector("#time-column")?.addEventListener("change", (event) => {
    parts.querySelectorAll("#time .timeline").forEach((node, at) => { node.hidden = at !== Number(event.target.value); });
  });
  for (const node of parts.querySelectorAll(".own-rate")) node.remove();
  stack(parts);

  // The model of a search can be kept: it judges rows to come.
  const keepName = make("input", { id: "keep-name", autocomplete: "off", spellcheck: "false", required: true, pattern: "[A-Za-z0-9][A-Za-z0-9_\\-]{0,99}", placeholder: "such as claims" });
  const keep = facts.task === "find" ? make("section", { class: "frame" }, make("h2", {}, "Judge rows to come"),
    make("p", {}, "The search has learned a model from the rows that are not odd, and what you judged fine is part of it. Keep it under a name."),
    make("form", { class: "controls", onsubmit: async (event) => {
      event.preventDefault();
      try { location.hash = `#/job/${(await post("/models", { result: id, name: keepName.value })).id}`; } catch (error) { keepNote.textContent = error.message; }
    } }, make("label", {}, "Name of the model ", keepName), make("button", { class: "quiet", type: "submit" }, "Keep the model"))) : null;
  const keepNote = make("p", { class: "note", role: "alert" });
  keep?.append(keepNote);

  // What to know before it is believed --------------------------------------------------------------------------------
  const checks = sections.checks.length ? make("section", { class: "frame" }, make("h2", {}, "Before you believe it"),
    make("dl", { class: "checks" }, sections.checks.map((check) => make("div", {}, make("dt", {}, check.title), make("dd", {}, check.message))))) : null;

  drawTop();
  drawRate();
  await read();
  draw();
  if (state.row) queueMicrotask(() => story(Number(state.row)));
  return [
    make("section", { class: "frame" }, heading(facts.file.name), lede, figures),
    ...(checks ? [checks] : []),
    make("section", { class: "frame", id: "rows" }, make("h2", {}, "The rows, the oddest first"),
      make("p", {}, "The stronger the shade of a cell, the larger its share of the score. Choose a row for its whole story."),
      sliderBox, controls, chosenGroup, pager, box, nothing),
    parts,
    ...(keep ? [keep] : []),
  ];
};
