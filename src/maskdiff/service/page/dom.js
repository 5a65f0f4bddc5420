// Small helpers to build the page. Values always become text nodes: what a cell holds is never markup.
export const $ = (id) => document.getElementById(id);

export const make = (tag, given = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "shade") node.style.setProperty("--s", value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(node.dataset, value);
    else if (name in node && typeof value !== "string") node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
};

export const count = (n) => n.toLocaleString("en");
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
export const bytes = (n) => (n < 1e6 ? `${count(Math.max(1, Math.round(n / 1e3)))} kB` : `${(n / 1e6).toFixed(1)} MB`);
// As in the report: one decimal near both ends, 0% and 100% only where they are exact.
export const percent = (share) => {
  const thousandths = Math.round(1000 * share);
  if (thousandths < 1) return share > 0 ? "<0.1%" : "0%";
  if (thousandths > 999) return share < 1 ? ">99.9%" : "100%";
  return thousandths < 100 || thousandths > 990 ? `${(thousandths / 10).toFixed(1)}%` : `${Math.round(thousandths / 10)}%`;
};
export const rate = (share) => `${Number((100 * share).toPrecision(2))}%`;
export const score = (value) => (value === null ? "none" : value.toFixed(3));
export const pValue = (p) => (p < 0.0001 ? p.toExponential(1) : String(Number(p.toPrecision(2))));
export const ago = (seconds) => new Date(1000 * seconds).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });

// "(1, 50]" reads as "1 to 50".
export const interval = (text) => {
  const found = /^[([](\S+), (\S+)[)\]]$/.exec(text ?? "");
  return found ? `${found[1]} to ${found[2]}` : text;
};

// What screen readers say without moving there.
export const say = (text) => { $("status").textContent = text; };

// A heading that takes the focus when a view opens, so that the keyboard and screen readers begin there.
export const heading = (text) => make("h1", { tabIndex: -1 }, text);

// On narrow screens tables are drawn as cards: each cell gets the name of its column, and roles keep it a table.
const roles = { THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TD: "cell" };
export const stack = (root) => {
  for (const table of root.querySelectorAll("table.stack")) {
    const names = [...table.tHead.rows[0].cells].map((head) => head.textContent);
    table.setAttribute("role", "table");
    for (const node of table.querySelectorAll("thead, tbody, tr, td, th")) {
      node.setAttribute("role", roles[node.tagName] ?? (node.scope === "row" ? "rowheader" : "columnheader"));
      if (node.matches("tbody td.num")) node.dataset.label = names[node.cellIndex];
    }
  }
};
