/** @file Documents: dropped or picked, sent, watched while they are translated, downloaded. */

import { ApiError, documentResult, documentState, forgetDocument, sendDocument } from "./api.js";
import { byId, cross, el, icon } from "./dom.js";
import { t } from "./i18n.js";
import { explain } from "./trouble.js";

const POLL_MS = 700;

/**
 * Wait until a document is done; a service that is busy or out of reach for a while is asked again.
 * @param {string} id
 * @param {AbortSignal} signal
 * @param {(job: import("./api.js").Job) => void} progress
 * @param {(error: ApiError) => void} waiting said until there is progress again: nobody knows how far it is now
 */
async function finished(id, signal, progress, waiting) {
  for (;;) {
    let wait = POLL_MS;
    try {
      const job = await documentState(id, signal);
      if (job.error || job.status === "error") throw new ApiError("refused", job.error ?? "", null, job.code ?? "");
      if (job.status === "done") return;
      progress(job);
    } catch (error) {
      if (!(error instanceof ApiError) || !["network", "busy", "rate"].includes(error.kind)) throw error;
      waiting(error);
      wait = (error.retryAfter ?? 3) * 1000;
    }
    // Who gives the document up meanwhile ends the next question before it is sent.
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

/** @param {string} name @param {string} target @returns {string} "report.docx" becomes "report.zh.docx" */
export function resultName(name, target) {
  const dot = name.lastIndexOf(".");
  return dot > 0 ? `${name.slice(0, dot)}.${target}${name.slice(dot)}` : `${name}.${target}`;
}

/** @param {Blob} blob @param {string} name */
function download(blob, name) {
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: name }).click();
  // The browser has taken the address over by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** @param {DragEvent} event */
const holdsFiles = (event) => event.dataTransfer?.types.includes("Files") ?? false;

/**
 * @param {{from: () => string, to: () => string, name: (code: string) => string, ready: Promise<void>}} pair
 * @param {() => void} show called when a document is dragged over the page
 * @param {(error: ApiError) => void} onKey called when the service wants a key
 * @returns {{speakAgain: () => void}}
 */
export function setUpDocuments(pair, show, onKey) {
  const list = byId("documents", HTMLUListElement);
  const zone = byId("drop", HTMLElement);
  const input = byId("file", HTMLInputElement);
  /** Words that no data-t names. @type {Map<HTMLElement, () => string>} */
  const told = new Map();

  /** @param {File} file */
  function send(file) {
    const stop = new AbortController();
    const [source, target] = [pair.from(), pair.to()];
    let id = "";
    const state = el("p", { class: "quiet", role: "status", tabindex: -1 });
    const bar = el("progress", { max: 1, "aria-label": file.name });
    const act = el("button", { class: "primary", type: "button", hidden: true });
    const remove = cross(t("remove"), () => {
      stop.abort();
      item.remove();
      told.delete(state);
      input.focus();
      // It may be gone already; then nobody needs it forgotten.
      if (id) forgetDocument(id).catch(() => undefined);
    });
    const item = el("li", { class: "document" }, icon("file"),
      el("div", { class: "about" }, el("p", { class: "name", dir: "auto" }, file.name), bar, state), act, remove);
    remove.dataset.tLabel = "remove";

    /** Words that follow the language of the interface. @param {HTMLElement} node @param {import("./i18n.js").Key} key */
    const write = (node, key) => {
      node.textContent = t(key);
      node.dataset.t = key;
      told.delete(node);
    };
    /** Words that are put together, anew for each language. @param {() => string} words */
    const report = (words) => {
      state.textContent = words();
      delete state.dataset.t;
      told.set(state, words);
    };

    /** @param {import("./i18n.js").Key} label @param {() => void} run */
    const offer = (label, run) => {
      write(act, label);
      act.onclick = run;
      act.hidden = false;
      if (document.activeElement === state) act.focus();
    };

    /** @param {() => Promise<void>} work */
    const guarded = async (work) => {
      // While its work is done the button is away; the focus waits beside it.
      if (document.activeElement === act) state.focus();
      act.hidden = true;
      item.classList.remove("trouble");
      try {
        await work();
      } catch (error) {
        if (stop.signal.aborted) return;
        if (!(error instanceof ApiError)) throw error;
        item.classList.add("trouble");
        bar.hidden = true;
        const isGone = error.kind === "missing" && id !== "";
        report(() => (isGone ? t("document_gone") : explain(error)));
        if (error.kind === "key") onKey(error);
        if (["network", "busy", "rate", "key"].includes(error.kind)) offer("again", () => void guarded(work));
        if (error.kind === "missing") {
          // A service that was started anew knows nothing of it.
          id = "";
          offer("again", translated);
        }
      }
    };

    const fetchResult = () => guarded(async () => {
      download(await documentResult(id, stop.signal), resultName(file.name, target));
      write(state, "document_done");
      offer("download", fetchResult);
    });

    const translated = () => guarded(async () => {
      bar.hidden = false;
      write(state, "document_sending");
      id ||= await sendDocument(file, source, target, stop.signal);
      await finished(id, stop.signal, ({ progress }) => {
        if (progress === null) bar.removeAttribute("value");
        else bar.value = progress;
        const share = Math.round((progress ?? 0) * 100);
        report(() => t("document_running", { language: pair.name(target), percent: t("percent", { n: share }) }));
      }, (error) => report(() => explain(error)));
      bar.value = 1;
      write(state, "document_done");
      offer("download", fetchResult);
    });

    list.prepend(item);
    void translated();
  }

  /** @param {FileList | null | undefined} files */
  async function take(files) {
    const taken = [...(files ?? [])];
    await pair.ready;
    taken.forEach(send);
  }

  input.addEventListener("change", () => {
    void take(input.files);
    input.value = "";
  });
  // A file dropped anywhere is a document; a browser would leave the page to show it.
  document.addEventListener("dragover", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    show();
    zone.classList.add("over");
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) zone.classList.remove("over");
  });
  document.addEventListener("drop", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    zone.classList.remove("over");
    void take(event.dataTransfer?.files);
  });

  return { speakAgain: () => told.forEach((words, node) => { node.textContent = words(); }) };
}
