/** @file One sentence, looked at closely: other translations of it, a correction, and where the model looked. */

import { ApiError, correct, translate } from "./api.js";
import { setUpAttention } from "./attention.js";
import { byId, el, heading } from "./dom.js";
import { t } from "./i18n.js";
import { remarks } from "./remarks.js";
import { attempt } from "./trouble.js";

/** @typedef {import("./api.js").Term} Term */
/**
 * @typedef {object} Chosen
 * @property {number} index
 * @property {string} key what it is known by wherever it stands
 * @property {string} source
 * @property {string} target
 * @property {string} before what stands before the word that was chosen
 * @property {string} from language
 * @property {string} to language
 * @property {string[]} flags
 * @property {Term[]} glossary
 */

const N_ALTERNATIVES = 4;

/**
 * @param {object} handlers
 * @param {(key: string, text: string) => void} handlers.replace
 * @param {(index: number) => void} handlers.closed by the reader
 */
export function createSentencePanel({ replace, closed }) {
  const panel = byId("sentence", HTMLElement);
  /** @type {Chosen | null} */
  let chosen = null;

  function close() {
    panel.hidden = true;
    panel.replaceChildren();
    chosen = null;
  }

  function leave() {
    const index = chosen?.index ?? 0;
    close();
    closed(index);
  }

  panel.addEventListener("keydown", (event) => {
    // Escape in an input method gives up its letters, not the sentence; Safari says so by the key's number alone.
    if (event.key === "Escape" && !event.isComposing && event.keyCode !== 229) leave();
  });

  /** @param {Chosen} of @param {string} text */
  function use(of, text) {
    const before = of.target;
    of.target = text;
    replace(of.key, text);
    // A correction may be answered when another sentence is looked at.
    if (chosen !== of) return;
    // What nobody has begun to correct is what stands in the translation.
    const field = byId("correction", HTMLTextAreaElement);
    if (field.value === before) field.value = text;
    for (const button of panel.querySelectorAll("button.choice")) {
      button.setAttribute("aria-pressed", String(button.textContent === text));
    }
  }

  /** @param {Chosen} of @param {string} prefix @param {HTMLElement} list @param {HTMLElement} place */
  function offer(of, prefix, list, place) {
    return attempt(place, async () => {
      const question = { text: of.source, source: of.from, target: of.to, glossary: of.glossary };
      const ask = (/** @type {number} */ alternatives) => translate({ ...question, alternatives, ...(prefix && { prefix }) });
      const { translations: [translation] } = await ask(N_ALTERNATIVES).catch((error) => {
        // A service may be told to give fewer: then one is asked for.
        if (error instanceof ApiError && error.code === "invalid") return ask(1);
        throw error;
      });
      if (chosen !== of) return;
      if (!prefix && translation.confidence !== null) showConfidence(translation.confidence);
      const texts = [translation.text, ...translation.alternatives.map((alternative) => alternative.text)];
      const all = new Set(prefix ? texts : [of.target, ...texts]);
      list.replaceChildren(
        ...[...all].map((text) => {
          const [kept, rest] = text.startsWith(prefix) ? [prefix, text.slice(prefix.length)] : ["", text];
          const button = el("button", { class: "choice", lang: of.to, dir: "auto", "aria-pressed": String(text === of.target) },
            el("span", { class: "kept" }, kept), rest);
          button.addEventListener("click", () => use(of, text));
          return el("li", {}, button);
        }),
      );
      place.textContent = "";
    });
  }

  /** @param {number} confidence */
  function showConfidence(confidence) {
    const chip = byId("sentence-confidence", HTMLElement);
    chip.textContent = `${t("confidence")} ${t("percent", { n: Math.round(confidence * 100) })}`;
    chip.style.setProperty("--share", String(confidence));
    chip.hidden = false;
  }

  /** @param {Chosen} of @param {string} title @param {string} prefix */
  function choices(of, title, prefix) {
    const list = el("ul", { class: "choices" });
    const place = el("p", { class: "quiet", role: "status" });
    void offer(of, prefix, list, place);
    return el("div", {}, el("h3", {}, title), list, place);
  }

  /** @param {Chosen} of */
  function correction(of) {
    const text = el("textarea", { id: "correction", class: "field", lang: of.to, dir: "auto", rows: 2 });
    text.value = of.target;
    const place = el("p", { class: "quiet", role: "status" });
    let isSending = false;
    const form = el("form", { class: "stack" }, el("label", { for: "correction" }, t("correct_label")), text,
      el("div", { class: "row" }, el("button", { class: "primary" }, t("correct_send")), place));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (isSending) return;
      const corrected = text.value.trim();
      if (!corrected || corrected === of.target) {
        place.textContent = t("correct_same");
        return;
      }
      isSending = true;
      void attempt(place, async () => {
        await correct({ source: of.from, target: of.to, source_text: of.source, translation: of.target, correction: corrected });
        use(of, corrected);
        place.textContent = t("correct_thanks");
      }).finally(() => (isSending = false));
    });
    return el("details", { class: "fold" }, el("summary", {}, t("correct")), form);
  }

  return {
    /** @param {Chosen} of */
    open(of) {
      chosen = of;
      const found = remarks(of.flags);
      const parts = [
        heading("sentence-title", t("sentence"), t("close"), leave),
        el("p", { class: "quote", lang: of.from, dir: "auto" }, of.source),
        el("p", { class: "confidence", id: "sentence-confidence", hidden: true }),
        ...(found.length ? [el("ul", { class: "remarks", "aria-label": t("remarks") }, ...found.map((text) => el("li", {}, text)))] : []),
        el("div", { class: "columns" }, choices(of, t("alternatives"), ""),
          ...(of.before.trim() ? [choices(of, t("alternatives_from", { words: of.before.trim() }), of.before.trimEnd())] : [])),
        correction(of),
        setUpAttention(() => ({ source_text: of.source, target_text: of.target, source: of.from, target: of.to })),
      ];
      panel.replaceChildren(...parts);
      panel.hidden = false;
      byId("sentence-title", HTMLElement).focus();
    },
    close,
    chosen: () => chosen,
  };
}
