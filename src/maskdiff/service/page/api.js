// Requests to the service this page came from.
import { $ } from "./dom.js";

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const kept = () => { try { return sessionStorage.getItem("maskdiff-token"); } catch { return null; } };
const headers = (more = {}) => {
  const token = kept();
  return { "X-Maskdiff": "page", ...(token ? { Authorization: `Bearer ${token}` } : {}), ...more };
};

// Asks for the token once, however many requests are refused at the same time.
let asking = null;
const askForToken = () => {
  asking ??= new Promise((resolve) => {
    const dialog = $("token");
    dialog.addEventListener("close", () => {
      try { sessionStorage.setItem("maskdiff-token", $("token-value").value.trim()); } catch { /* asked again next time */ }
      $("token-value").value = "";
      asking = null;
      resolve();
    }, { once: true });
    dialog.showModal();
  });
  return asking;
};

const ask = async (path, given = {}) => {
  let answer;
  try {
    answer = await fetch(path, { ...given, headers: headers(given.headers) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The service does not answer. Is it still running?");
  }
  if (answer.status === 401) {
    await askForToken();
    return ask(path, given);
  }
  if (!answer.ok) {
    const said = await answer.json().catch(() => ({ error: answer.statusText }));
    throw new Refused(answer.status, said.error);
  }
  return answer;
};

export const get = async (path, given) => (await ask(path, given)).json();
export const post = async (path, content, given = {}) =>
  (await ask(path, { method: "POST", body: JSON.stringify(content), ...given, headers: { "Content-Type": "application/json" } })).json();
export const remove = (path) => ask(path, { method: "DELETE" });

// A file with its progress; fetch does not say how much was sent.
export const upload = (file, onProgress) => new Promise((resolve, reject) => {
  const request = new XMLHttpRequest();
  request.open("POST", `/files?name=${encodeURIComponent(file.name)}`);
  for (const [name, value] of Object.entries(headers())) request.setRequestHeader(name, value);
  request.upload.addEventListener("progress", (event) => onProgress(event.loaded / Math.max(1, event.total)));
  request.addEventListener("error", () => reject(new Refused(0, "The upload broke off.")));
  request.addEventListener("load", async () => {
    if (request.status === 401) {
      await askForToken();
      resolve(upload(file, onProgress));
      return;
    }
    let said;
    try { said = JSON.parse(request.responseText); } catch { said = { error: request.statusText }; }
    if (request.status === 201) resolve(said);
    else reject(new Refused(request.status, said.error));
  });
  request.send(file);
});

// A job each time it changes, until it has ended. EventSource cannot send a token.
export const watch = async (id, onChange, signal) => {
  const answer = await ask(`/jobs/${id}/events`, { signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const parts = text.split("\n\n");
    text = parts.pop();
    for (const part of parts) {
      const data = part.split("\n").find((line) => line.startsWith("data: "));
      if (data) onChange(JSON.parse(data.slice(6)));
    }
  }
};

export const download = async (path, name) => {
  const answer = await ask(path);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
};
