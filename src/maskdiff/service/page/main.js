// The views by their addresses: what stands behind the # says which view it is, so that a link opens it again.
import { Refused } from "./api.js";
import { $, heading, make } from "./dom.js";
import { fileView } from "./file.js";
import { homeView } from "./home.js";
import { jobView } from "./job.js";
import { resultView } from "./result.js";

const root = document.documentElement;
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
const nameTheme = () => { $("theme").textContent = isDark() ? "Light theme" : "Dark theme"; };
$("theme").addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  try { localStorage.setItem("maskdiff-theme", root.dataset.theme); } catch { /* the choice is not stored */ }
  nameTheme();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);
nameTheme();

const views = [
  [/^\/?$/, homeView],
  [/^\/file\/([0-9a-f]{32})$/, fileView],
  [/^\/job\/([0-9a-f]{32})$/, jobView],
  [/^\/result\/([0-9a-f]{32})$/, resultView],
];

const problem = (error) => make("section", { class: "frame" },
  heading(error instanceof Refused && error.status === 404 ? "Not found" : "That did not work"),
  make("p", { class: "lede", role: "alert" }, error.message.replace(/^./, (letter) => letter.toUpperCase())),
  make("p", {}, make("a", { href: "#/" }, "Back to the beginning")));

let leaving = new AbortController();
const open = async () => {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const [path, query = ""] = location.hash.slice(1).split("?");
  const found = views.map(([pattern, view]) => [pattern.exec(path), view]).find(([match]) => match);
  root.removeAttribute("data-ready");
  let shown;
  try {
    if (!found) throw new Refused(404, "The address of this view is not known.");
    shown = await found[1]({ id: found[0][1], query: new URLSearchParams(query), signal });
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof Refused)) console.error(error);
    shown = problem(error);
  }
  if (signal.aborted) return;
  if ($("story").open) $("story").close();
  $("view").replaceChildren(...[shown].flat());
  document.title = `${$("view").querySelector("h1")?.textContent ?? "maskdiff"} · maskdiff`;
  scrollTo(0, 0);
  $("view").querySelector("h1")?.focus({ preventScroll: true });
  root.dataset.ready = "yes";
};

addEventListener("hashchange", open);
// A file that is dropped beside the field for it would otherwise replace the page.
for (const type of ["dragover", "drop"]) addEventListener(type, (event) => event.preventDefault());
await open();
