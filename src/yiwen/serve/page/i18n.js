/** @file The interface's own words, in English and Chinese. */

import { en } from "./strings_en.js";
import { zh } from "./strings_zh.js";

/** @typedef {keyof typeof en} Key */
/** @typedef {"en" | "zh"} Interface */

const STRINGS = { en, zh };
/** @type {Interface} */
let chosen = "en";

/** @returns {Interface} what the browser's reader prefers */
export function preferred() {
  const known = navigator.languages.map((code) => code.slice(0, 2).toLowerCase()).find((code) => code === "en" || code === "zh");
  return known === "zh" ? "zh" : "en";
}

export function interfaceLanguage() {
  return chosen;
}

/**
 * @param {Key} key
 * @param {Record<string, string | number>} [values] for the {names} in the text
 * @returns {string}
 */
export function t(key, values = {}) {
  return STRINGS[chosen][key].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}

/** @param {string} key @returns {key is Key} */
export function isKey(key) {
  return Object.hasOwn(en, key);
}

/**
 * Every element that names its text: data-t its content, data-t-label its label, data-t-placeholder its placeholder,
 * data-t-empty what style.css writes there while it is empty.
 */
function fill() {
  const named = "[data-t], [data-t-label], [data-t-placeholder], [data-t-empty]";
  for (const node of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(named))) {
    const { t: text, tLabel: label, tPlaceholder: placeholder, tEmpty: empty } = node.dataset;
    if (text) node.textContent = t(/** @type {Key} */ (text));
    if (label) node.setAttribute("aria-label", t(/** @type {Key} */ (label)));
    if (label && node instanceof HTMLButtonElement) node.title = t(/** @type {Key} */ (label));
    if (placeholder) node.setAttribute("placeholder", t(/** @type {Key} */ (placeholder)));
    if (empty) node.dataset.empty = t(/** @type {Key} */ (empty));
  }
}

/** @param {Interface} language */
export function useInterface(language) {
  chosen = language;
  document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  document.title = t("title");
  fill();
}

/**
 * A language's name in the interface's language, the service's own name where the browser knows none.
 * @param {string} code
 * @param {string} [fallback]
 * @returns {string}
 */
export function languageName(code, fallback = code) {
  try {
    return new Intl.DisplayNames([document.documentElement.lang], { type: "language", fallback: "none" }).of(code) ?? fallback;
  } catch {
    return fallback;
  }
}
