// A file: how each column is read, to be changed; then find odd rows, learn a model, or judge by one.
import { get, post } from "./api.js";
import { bytes, count, heading, make, percent, plural, say } from "./dom.js";

const ways = [["auto", "as it looks"], ["category", "category"], ["number", "number"], ["date", "date"], ["text", "free text"], ["drop", "leave out"]];

export const fileView = async ({ id, signal }) => {
  let file = await get(`/files/${id}`, { signal });
  const { models } = await get("/models", { signal });
  const chosen = {};
  const note = make("p", { class: "note", role: "alert" });

  const body = make("tbody");
  const readAs = (column) => (column.left_out ? make("span", { class: "note" }, `left out: ${column.left_out}`) : make("span", { class: "type" }, column.type));
  const draw = () => body.replaceChildren(...file.columns.map((column) => {
    const select = make("select", { "aria-label": `Read ${column.name} as`, onchange: async (event) => {
      const before = chosen[column.name] ?? "auto";
      chosen[column.name] = event.target.value;
      note.textContent = "";
      try {
        file = await post(`/files/${id}/preview`, { columns: chosen });
        say(`${column.name} is read as ${event.target.selectedOptions[0].textContent}`);
      } catch (error) {
        chosen[column.name] = before;
        note.textContent = error.message;
      }
      draw();
      body.querySelector(`select[data-column="${CSS.escape(column.name)}"]`)?.focus();
    }, data: { column: column.name } }, ways.map(([way, name]) => make("option", { value: way, selected: (chosen[column.name] ?? "auto") === way }, name)));
    const computed = !file.source?.includes(column.name) && column.values.length === 0 && column.type && !column.left_out;
    return make("tr", {},
      make("th", { scope: "row", class: "value name" }, column.name),
      make("td", {}, readAs(column)),
      make("td", { class: "wide-cell" }, computed ? make("span", { class: "note" }, "computed from dates")
        : make("span", { class: "examples" }, column.values.map((value) => make("span", { class: "value example" }, value || "(empty)")))),
      make("td", { class: "num" }, column.missing ? percent(column.missing) : "none"),
      make("td", {}, computed ? "" : select));
  }));
  draw();

  const names = file.columns.filter((column) => column.values.length).map((column) => column.name);
  const rowsAre = make("select", { id: "rows-are" }, make("option", { value: "" }, "a table"),
    names.map((name) => make("option", { value: name }, `texts: ${name}`)));
  const method = make("select", { id: "method" }, make("option", { value: "" }, "thorough"), make("option", { value: "kernel" }, "quick"));
  const settings = () => {
    const columns = Object.fromEntries(Object.entries(chosen).filter(([, way]) => way !== "auto"));
    const given = rowsAre.value ? { text: rowsAre.value } : { columns };
    return { file: id, ...given, ...(method.value && !rowsAre.value ? { reconstructor: method.value } : {}) };
  };
  const start = async (path, given) => {
    note.textContent = "";
    try {
      location.hash = `#/job/${(await post(path, given)).id}`;
    } catch (error) { note.textContent = error.message; }
  };
  const modelName = make("input", { id: "model-name", autocomplete: "off", spellcheck: "false", pattern: "[A-Za-z0-9][A-Za-z0-9_\\-]{0,99}", placeholder: "such as claims", required: true });
  const learnForm = make("form", { class: "controls", onsubmit: (event) => {
    event.preventDefault();
    start("/models", { ...settings(), name: modelName.value });
  } }, make("label", {}, "Name of the model ", modelName), make("button", { class: "quiet", type: "submit" }, "Learn a model"));
  const by = make("select", { id: "by-model" }, models.map((model) => make("option", { value: model.name }, model.name)));
  const judgeForm = make("form", { class: "controls", onsubmit: (event) => {
    event.preventDefault();
    start("/results", { file: id, model: by.value });
  } }, make("label", {}, "Model ", by), make("button", { class: "quiet", type: "submit" }, "Judge these rows"));

  const rows = file.rows === null ? "more than 5,000 rows" : plural(file.rows, "row");
  return [
    make("section", { class: "frame" }, heading(file.name),
      make("p", { class: "lede" }, `${rows}, ${plural(names.length, "column")}, ${bytes(file.bytes)}.`),
      ...(file.notes.length ? [make("details", {}, make("summary", {}, plural(file.notes.length, "note")), make("ul", { class: "notes" }, file.notes.map((one) => make("li", {}, one))))] : []),
      make("div", { class: "choices" },
        make("div", { class: "choice primary" }, make("h2", {}, "Find odd rows"), make("p", {}, "Nobody knows which rows are normal: each is judged by a model that did not learn from it."),
          make("div", { class: "controls" }, make("label", {}, "Rows are ", rowsAre), make("label", {}, "Search ", method)),
          make("button", { class: "quiet strong", type: "button", onclick: () => start("/find", settings()) }, "Find odd rows")),
        make("div", { class: "choice" }, make("h2", {}, "Learn from normal rows"), make("p", {}, "These rows are normal. Learn a model of them, to judge new rows by."), learnForm),
        ...(models.length ? [make("div", { class: "choice" }, make("h2", {}, "Judge by a model"), make("p", {}, "A model has learned before what is normal."), judgeForm)] : [])),
      note),
    make("section", { class: "frame" }, make("h2", {}, "How the columns are read"),
      make("p", {}, `By the first ${count(Math.min(file.rows ?? 5000, 5000))} rows. Change what was taken for something else.`),
      make("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Columns" },
        make("table", { class: "columns" }, make("caption", {}, "Columns, what they are read as, and values of the first rows"),
          make("thead", {}, make("tr", {}, ["Column", "Read as", "Values", "Missing", "Change"].map((name) => make("th", { scope: "col", class: name === "Missing" ? "num" : "" }, name)))), body))),
  ];
};
