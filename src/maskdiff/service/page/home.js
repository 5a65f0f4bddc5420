// The beginning: drop a file; what was found and learned before.
import { get, remove, upload } from "./api.js";
import { $, ago, bytes, count, heading, make, plural, say } from "./dom.js";

const dropZone = () => {
  const input = make("input", { type: "file", id: "file", class: "hidden-input", accept: ".csv,.tsv,.txt,.json,.jsonl,.ndjson,.parquet,.xlsx,.gz" });
  const meter = make("progress", { max: 1, value: 0, hidden: true, "aria-label": "Upload" });
  const doing = make("p", { class: "doing" });
  const note = make("p", { class: "note", role: "alert" });
  const zone = make("div", { class: "drop" },
    make("label", { for: "file", class: "drop-label" }, make("strong", {}, "Drop a file here"), make("span", {}, "or choose one")), input,
    make("p", { class: "note" }, "CSV, Excel, JSON, JSON Lines or Parquet; packed by gzip or not. It stays on the machine that serves this page."), meter, doing, note);
  const take = async (file) => {
    if (!file) return;
    note.textContent = "";
    meter.hidden = false;
    doing.textContent = `Sending ${file.name}…`;
    zone.classList.add("busy");
    say(`Reading ${file.name}`);
    try {
      const done = await upload(file, (share) => {
        if (share < 1) meter.value = share;
        else { meter.removeAttribute("value"); doing.textContent = `Reading the columns of ${file.name}…`; }
      });
      location.hash = `#/file/${done.id}`;
    } catch (error) {
      note.textContent = `${file.name} cannot be used: ${error.message}`;
      meter.hidden = true;
      doing.textContent = "";
    }
    zone.classList.remove("busy");
    input.value = "";
  };
  input.addEventListener("change", () => take(input.files[0]));
  for (const type of ["dragenter", "dragover"]) zone.addEventListener(type, (event) => { event.preventDefault(); zone.classList.add("over"); });
  for (const type of ["dragleave", "drop"]) zone.addEventListener(type, () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => { event.preventDefault(); take(event.dataTransfer.files[0]); });
  return zone;
};

const described = (result) => {
  const found = result.task === "find" ? `${count(result.alarms)} found` : plural(result.alarms, "alarm");
  return `${found} in ${plural(result.rows, "row")}${result.model ? `, judged by ${result.model}` : ""}`;
};

const forget = (path, line, name) => make("button", {
  class: "quiet", type: "button", onclick: async (event) => {
    if (event.target.dataset.sure === undefined) {
      event.target.dataset.sure = "";
      event.target.textContent = "Really remove?";
      return;
    }
    await remove(path);
    line.remove();
    say(`${name} is removed`);
  },
}, "Remove", make("span", { class: "hidden" }, ` ${name}`));

const resultLine = (result) => {
  const line = make("li", { class: "entry" });
  line.append(
    make("a", { class: "value name", href: `#/result/${result.id}${result.alarms ? "?shown=alarms" : ""}` }, result.file.name),
    make("span", { class: "grow" }, described(result)), make("span", { class: "aside" }, ago(result.made)),
    forget(`/results/${result.id}`, line, result.file.name));
  return line;
};

const modelLine = (model) => {
  const line = make("li", { class: "entry" });
  line.append(make("span", { class: "value name" }, model.name), make("span", { class: "grow" }, bytes(model.bytes)),
    make("span", { class: "aside" }, ago(Date.parse(model.modified) / 1000)), forget(`/models/${model.name}`, line, model.name));
  return line;
};

const jobLine = (job) => make("li", { class: "entry" },
  make("a", { class: "name", href: `#/job/${job.id}` }, { find: "Finding odd rows", score: "Judging rows", learn: "Learning a model", update: "Learning on" }[job.task]),
  make("span", { class: "grow" }, job.stage || "waiting"), make("span", { class: "aside" }, ago(job.created)));

const list = (title, lines, none) => make("section", { class: "frame" }, make("h2", {}, title),
  lines.length ? make("ul", { class: "entries" }, lines) : make("p", { class: "empty" }, none));

export const homeView = async ({ signal }) => {
  const [{ models }, { results, keep_days }, { jobs }] = await Promise.all(["/models", "/results", "/jobs"].map((path) => get(path, { signal })));
  const open = jobs.filter((job) => ["waiting", "running"].includes(job.state));
  return [
    make("section", { class: "frame" }, heading("Find the odd rows of a table"),
      make("p", { class: "lede" }, "Which rows do not fit the others, and which cells make them odd. Nobody has to say beforehand what is normal."), dropZone()),
    ...(open.length ? [list("Under way", open.map(jobLine), "")] : []),
    list("Looked at before", results.map(resultLine), `Nothing yet. Results stay here for ${keep_days} days after they were last opened.`),
    list("Models", models.map(modelLine), "No model yet. Drop a file of normal rows and learn one."),
  ];
};
