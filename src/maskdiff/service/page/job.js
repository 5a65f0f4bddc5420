// A job while it runs: its stages, live.
import { get, remove, watch } from "./api.js";
import { count, heading, make, say } from "./dom.js";

const titles = { find: "Finding odd rows", score: "Judging rows", learn: "Learning a model", update: "Learning on" };

export const jobView = async ({ id, signal }) => {
  let job = await get(`/jobs/${id}`, { signal });
  const title = heading(titles[job.task]);
  const bar = make("progress", { max: 1, "aria-label": "Progress of this stage" });
  const stage = make("p", { class: "lede stage" });
  const detail = make("p", { class: "note" });
  const stages = make("ol", { class: "stages" });
  const actions = make("p", { class: "actions" });
  const seen = [];

  const show = () => {
    if (job.stage && job.stage !== seen.at(-1)) {
      seen.push(job.stage);
      stages.replaceChildren(...seen.map((name, at) => make("li", { class: at + 1 < seen.length ? "past" : "now" }, name)));
      say(job.stage);
    }
    const known = job.total > 0 && job.state === "running";
    if (known) bar.value = Math.min(1, job.done / job.total);
    else bar.removeAttribute("value");
    bar.hidden = !["running", "waiting"].includes(job.state);
    stage.textContent = { waiting: "Waiting for its turn", running: job.stage || "starting", done: "Done", failed: "It failed", cancelled: "Cancelled" }[job.state];
    const loss = job.loss === null ? "" : `, loss on rows held out ${job.loss.toFixed(3)}`;
    detail.textContent = known ? `${count(job.done)} of ${count(job.total)}${loss}` : "";
    if (job.state === "failed") { detail.textContent = job.error; say(`It failed: ${job.error}`); }
    detail.className = job.state === "failed" ? "failure" : "note";
    stages.hidden = job.state === "failed";
  };
  const ended = () => {
    const back = job.settings.file ? [make("a", { class: "quiet", href: `#/file/${job.settings.file}` }, "Back to the file")] : [];
    if (job.state !== "done") { actions.replaceChildren(...back, make("a", { class: "quiet", href: "#/" }, "To the beginning")); return; }
    if (job.result.result) { location.replace(`#/result/${job.result.result}${job.result.alarms ? "?shown=alarms" : ""}`); return; }
    title.textContent = `The model ${job.result.model} is learned`;
    stage.textContent = "It can judge rows now: here, and for programs at the address below.";
    detail.className = "value";
    detail.textContent = `POST /models/${job.result.model}/score`;
    actions.replaceChildren(make("a", { class: "quiet strong", href: "#/" }, "Drop a file to judge"), ...back);
    title.focus();
  };
  const cancel = make("button", { class: "quiet", type: "button", onclick: async () => { cancel.disabled = true; await remove(`/jobs/${id}`).catch(() => {}); } }, "Cancel");
  actions.append(cancel);
  show();
  (async () => {
    while (!signal.aborted && ["waiting", "running"].includes(job.state)) {
      try {
        await watch(id, (changed) => { job = changed; show(); }, signal);
      } catch (error) {
        if (signal.aborted) return;
        detail.textContent = error.message; // the service may be about to start again, and the job with it
        await new Promise((resolve) => { setTimeout(resolve, 1000); });
      }
    }
    if (!signal.aborted) ended();
  })();
  return make("section", { class: "frame job" }, title, stage, bar, detail, stages, actions);
};
