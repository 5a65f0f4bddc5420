// The whole story of one row: bars for its cells, what was expected, the nearest normal rows, and what would be if.
import { get, post } from "./api.js";
import { $, interval, make, pValue, percent, say, score } from "./dom.js";

const WAIT = 60; // milliseconds after the last key before the service is asked

const verdict = (one) => `score ${score(one.anomaly_score)}, p-value ${pValue(one.p_value)}${one.is_anomaly ? ", an alarm" : ", no alarm"}`;

export const openStory = async ({ id, row, facts, isText, shaded, neighbours, onMove, onClose, onFine }) => {
  const dialog = $("story");
  let found;
  try { found = await get(`/results/${id}/rows/${row}`); } catch (error) { say(error.message); return; }
  const { model } = found;
  const changes = {};
  const title = make("h2", { id: "story-title", tabIndex: -1 }, `Row ${row}`);
  const now = make("p", { class: "what-if", role: "status", hidden: true });
  const note = make("p", { class: "note", role: "alert" });

  // Bars: of the cells as the model judges them, so that a change can be compared with them.
  const bars = make("tbody");
  const wide = (cells) => Math.max(0.001, ...cells.map((one) => Math.abs(one.contribution)));
  const fill = (cell, most) => make("span", { class: "meter alarm", "aria-hidden": "true" }, make("span", { class: "fill", style: `width:${(100 * Math.max(0, cell.contribution) / most).toFixed(1)}%` }));
  const inputs = new Map();
  const drawBars = (cells) => {
    const most = wide(cells), seen = new Set(cells.map((one) => one.column));
    const others = facts.columns.filter((name) => !seen.has(name)).map((column) => ({ column, share: 0, contribution: 0, expected: "" }));
    for (const one of [...cells, ...others]) {
      const known = bars.querySelector(`tr[data-column="${CSS.escape(one.column)}"]`);
      const parts = [
        make("td", { class: "wide-cell" }, fill(one, most), make("span", { class: "share" }, percent(Math.max(0, one.share)))),
        make("td", { class: "expected-cell" }, one.expected ? [make("span", { class: "value" }, interval(one.expected)), " ", make("span", { class: "note" }, percent(one.expected_probability ?? 0))] : "",
          one.contradicts ? make("span", { class: "cell-note block" }, `contradicts ${one.contradicts}`) : null, one.note ? make("span", { class: "cell-note block" }, one.note) : null),
      ];
      if (known) { [...known.cells].slice(2).forEach((td) => td.remove()); known.append(...parts); continue; }
      const place = facts.columns.indexOf(one.column);
      const input = place < 0 ? null : make("input", { value: found.values[place] ?? "", autocomplete: "off", spellcheck: "false", "aria-label": `${one.column}, change it to see what would be`, oninput: () => change(one.column, input) });
      if (input) inputs.set(one.column, input);
      bars.append(make("tr", { data: { column: one.column } }, make("th", { scope: "row", class: "value name" }, one.column),
        make("td", {}, input ?? make("span", { class: "value" }, one.value ?? "")), ...parts));
    }
  };

  let waiting, asked = 0;
  const change = (column, input) => {
    const place = facts.columns.indexOf(column);
    if (input.value === (found.values[place] ?? "")) delete changes[column];
    else changes[column] = input.value === "" ? null : input.value;
    input.classList.toggle("changed", column in changes);
    clearTimeout(waiting);
    waiting = setTimeout(tryOut, WAIT);
  };
  const tryOut = async () => {
    const mine = ++asked;
    note.textContent = "";
    try {
      const one = await post(`/results/${id}/rows/${row}/what-if`, { changes });
      if (mine !== asked) return;
      const any = Object.keys(changes).length > 0;
      now.hidden = !any;
      again.hidden = !any;
      now.replaceChildren("As it is: ", make("strong", {}, score(model.anomaly_score)), ". With your changes: ", make("strong", { class: one.is_anomaly ? "alarm-text" : "calm-text" }, score(one.anomaly_score)), one.is_anomaly ? ", an alarm." : ", no alarm.");
      if (!isText) drawBars(one.cells);
      else drawText(one);
    } catch (error) { note.textContent = error.message; }
  };
  const again = make("button", { class: "quiet", type: "button", hidden: true, onclick: () => {
    for (const [column, input] of inputs) { input.value = found.values[facts.columns.indexOf(column)] ?? ""; input.classList.remove("changed"); delete changes[column]; }
    tryOut();
  } }, "Undo the changes");

  // A text is changed as a whole; its odd words are listed with what was expected.
  const text = make("p", { class: "text value" }), oddWords = make("ul", { class: "cells" });
  const drawText = (one) => {
    text.replaceChildren(...shaded({ ...found, cells: one.cells, pieces: one.pieces }));
    oddWords.replaceChildren(...one.cells.slice(0, 8).map((cell) => make("li", {}, make("span", { class: "share" }, percent(Math.max(0, cell.share))), " ", make("span", { class: "value name" }, cell.value ?? ""),
      cell.expected && cell.expected !== cell.value ? [make("span", { class: "note" }, " expected "), make("span", { class: "value" }, cell.expected), make("span", { class: "note" }, ` ${percent(cell.expected_probability ?? 0)}`)] : null)));
  };
  const held = isText ? facts.columns.find((name) => model.cells.some((cell) => cell.column === name)) ?? facts.columns[0] : null;
  const whole = isText ? make("textarea", { rows: 3, spellcheck: "false", oninput: () => change(held, whole) }, found.values[facts.columns.indexOf(held)] ?? "") : null;
  if (isText) {
    drawText(model);
    inputs.set(held, whole);
  }

  const nearest = (model.nearest ?? []).filter((one) => Object.keys(one).length);
  const differing = [...new Set(nearest.flatMap((one) => Object.keys(one)))];
  const nearestTable = nearest.length ? [make("h3", {}, "The nearest normal rows, where they differ"),
    make("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": "The nearest normal rows" }, make("table", {}, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Column"), make("th", { scope: "col" }, "This row"), nearest.map((_, at) => make("th", { scope: "col" }, `Normal row ${at + 1}`)))),
      make("tbody", {}, differing.map((name) => make("tr", {}, make("th", { scope: "row", class: "value name" }, name), make("td", { class: "value" }, found.values[facts.columns.indexOf(name)] ?? ""),
        nearest.map((one) => make("td", { class: name in one ? "value" : "note" }, name in one ? one[name] : "the same")))))))] : [];

  const fine = (scope, label) => make("button", { class: "quiet", type: "button", data: { scope }, onclick: async (event) => {
    event.target.disabled = true;
    try {
      const done = await post(`/results/${id}/dismiss`, { row, scope });
      note.textContent = done.rows.length === 1 ? "This row is judged fine: it is no alarm next time." : `${done.rows.length} rows are judged fine: none of them is an alarm next time.`;
      await onFine(done);
    } catch (error) { note.textContent = error.message; event.target.disabled = false; }
  } }, label);
  const rows = neighbours(), at = rows.indexOf(row);
  const step = (to, name) => make("button", { class: "quiet", type: "button", disabled: to === undefined, onclick: () => onMove(to) }, name);
  const close = make("button", { class: "quiet", type: "button", onclick: () => dialog.close() }, "Close");

  if (!isText) drawBars(model.cells);
  dialog.replaceChildren(
    make("div", { class: "story-head" }, title, make("div", { class: "actions" }, step(at < 0 ? undefined : rows[at - 1], "Previous"), step(at < 0 ? undefined : rows[at + 1], "Next"), close)),
    make("p", { class: "lede" }, found.oddity ? `${found.oddity[0].toUpperCase()}${found.oddity.slice(1)}: ` : "", `score ${score(found.score)}, p-value ${pValue(found.p_value)}${found.dismissed ? "; judged fine" : ""}.`),
    make("p", { class: "actions" }, fine("same cells", "This is fine"), fine("same pattern", "All like it are fine"), again),
    note, now,
    ...(isText ? [make("h3", {}, "Its odd words"), text, oddWords, make("label", { class: "field" }, "Change the text to see the score change", whole)] : [
      make("h3", {}, "Its cells"),
      make("p", { class: "note" }, facts.task === "find" ? `By the model that learned from the rows that are not odd (${verdict(model)}). Change a value to see the score change.` : "Change a value to see the score change."),
      make("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Cells" }, make("table", { class: "bars" }, make("caption", { class: "hidden" }, "Each cell with its share of the score and what was expected"),
        make("thead", {}, make("tr", {}, ["Column", "Value", "Share of the score", "Expected"].map((name) => make("th", { scope: "col" }, name)))), bars))]),
    ...nearestTable,
  );
  dialog.onclose = onClose;
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  title.focus();
};
