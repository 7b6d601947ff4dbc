/** @file The line below the translation: how sure the model is, which sentences to check, alternatives, copying. */

import { byId, copy } from "./dom.js";
import { t } from "./i18n.js";
import { remarks } from "./remarks.js";

/** @typedef {import("./paragraphs.js").Whole} Whole */

/** How long it says that the translation was copied, ms. */
const COPIED_MS = 2000;

/**
 * @param {object} handlers
 * @param {() => string} handlers.text the translation as it stands
 * @param {(sentence: number) => void} handlers.open look at a sentence closely
 * @param {() => number} handlers.current the sentence that was looked at last
 * @param {(text: string) => void} handlers.copied
 * @param {() => void} handlers.copyFailed
 */
export function createFoot({ text, open, current, copied, copyFailed }) {
  const confidence = byId("confidence", HTMLElement);
  const check = byId("check", HTMLButtonElement);
  const alternatives = byId("alternatives", HTMLButtonElement);
  const copyButton = byId("copy", HTMLButtonElement);
  const copyWord = byId("copy-word", HTMLElement);
  let firstToCheck = 0;
  let timer = 0;

  check.addEventListener("click", () => open(firstToCheck));
  alternatives.addEventListener("click", () => open(current()));
  copyButton.addEventListener("click", async () => {
    try {
      await copy(text());
      copyWord.textContent = t("copied");
      copied(t("copied"));
    } catch {
      copyFailed();
    }
    clearTimeout(timer);
    timer = setTimeout(() => (copyWord.textContent = t("copy")), COPIED_MS);
  });

  return {
    /** @param {Whole | null} whole what is shown, null without a translation */
    show(whole) {
      const sentences = whole?.sentences ?? [];
      const toCheck = sentences.flatMap(({ flags }, index) => (remarks(flags).length ? [index] : []));
      const share = whole?.confidence ?? null;
      confidence.hidden = share === null;
      byId("confidence-share", HTMLElement).textContent = t("percent", { n: Math.round((share ?? 0) * 100) });
      confidence.style.setProperty("--share", String(share ?? 0));
      check.hidden = toCheck.length === 0;
      check.setAttribute("aria-label", t("to_check_label", { n: toCheck.length }));
      byId("n-to-check", HTMLElement).textContent = String(toCheck.length);
      [firstToCheck = 0] = toCheck;
      alternatives.disabled = text() === "";
      copyButton.disabled = text() === "";
    },
    /** What there is of a translation that broke off can be copied. */
    brokenOff() {
      copyButton.disabled = text() === "";
    },
  };
}
