/** @file What the service's checks found, in words. */

import { isKey, t } from "./i18n.js";

/** Said of a translation as it should be; nothing to look at. */
const HARMLESS = new Set(["segmented", "passed_through", "repaired", "recased"]);

/**
 * @param {string} flag
 * @returns {string}
 */
function inWords(flag) {
  const key = `flag_${flag}`;
  return isKey(key) ? t(key) : flag.replaceAll("_", " ");
}

/**
 * What a reader should look at, a sentence each; empty where there is nothing.
 * @param {string[]} flags
 * @returns {string[]}
 */
export function remarks(flags) {
  return flags.filter((flag) => !HARMLESS.has(flag)).map(inWords);
}
