/** @file Errors in words, and the line below the panes that says how things stand. */

import { ApiError } from "./api.js";
import { byId } from "./dom.js";
import { interfaceLanguage, t } from "./i18n.js";
import { REFUSALS_ZH, UNITS_ZH } from "./refusals_zh.js";
import { readKey } from "./store.js";

/**
 * What happened, in the reader's language; why after it where the service says more: in its own words, or in Chinese
 * where the page speaks that and knows the code. The last number that a service names is its limit, the first word for
 * what is counted is its unit; what may be wrong with a text or a document is quoted.
 * @param {ApiError} error
 * @returns {string}
 */
export function explain({ kind, detail: told, code }) {
  const limit = `${told.match(/\d+/g)?.at(-1) ?? ""} ${UNITS_ZH[/bytes|characters|texts/.exec(told)?.[0] ?? ""] ?? ""}`.trim();
  const chinese = interfaceLanguage() === "zh" ? REFUSALS_ZH[code]?.replace("{limit}", limit).replace("{told}", () => told) : "";
  const detail = chinese || told;
  if (kind === "network") return navigator.onLine ? t("no_service") : t("offline");
  if (kind === "key") return readKey() ? t("key_wrong") : t("key_wanted");
  if (kind === "rate" || kind === "busy") return t(kind);
  return detail ? t("because", { what: t(kind).replace(/[.。]$/, ""), detail }) : t(kind);
}

/**
 * Do what may be refused, and say in its place when it was.
 * @param {HTMLElement} place
 * @param {() => Promise<void>} work
 */
export async function attempt(place, work) {
  place.textContent = t("working");
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const wait = error.retryAfter === null ? "" : ` ${t("try_in", { n: error.retryAfter })}`;
    place.textContent = explain(error) + wait;
  }
}

/**
 * @typedef {object} Notice
 * @property {string} text
 * @property {boolean} [isTrouble]
 * @property {number | null} [seconds] until the same is tried again, counted down
 * @property {{label: string, run: () => void} | null} [action]
 * @property {boolean} [wantsKey]
 */

/** @param {(key: string) => void} onKey */
export function createStatus(onKey) {
  const line = byId("status", HTMLElement);
  const words = byId("status-text", HTMLElement);
  const countdown = byId("countdown", HTMLElement);
  const action = byId("status-action", HTMLButtonElement);
  const form = byId("key-form", HTMLFormElement);
  const input = byId("key", HTMLInputElement);
  let timer = 0;
  let act = () => {};

  action.addEventListener("click", () => act());
  input.addEventListener("input", () => input.setCustomValidity(""));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const key = input.value.trim();
    // Anything else cannot travel in a header.
    if (!/^[\x21-\x7e]+$/.test(key)) {
      input.setCustomValidity(t("key_letters"));
      input.reportValidity();
      return;
    }
    input.value = "";
    onKey(key);
  });

  /** @param {number} left */
  function count(left) {
    countdown.textContent = left > 0 ? t("again_in", { n: left }) : "";
    if (left > 0) timer = setTimeout(count, 1000, left - 1);
  }

  /** @param {Notice} notice */
  function say({ text, isTrouble = false, seconds = null, action: offered = null, wantsKey = false }) {
    const focused = document.activeElement;
    clearTimeout(timer);
    if (words.textContent !== text) words.textContent = text;
    line.classList.toggle("trouble", isTrouble);
    count(Math.ceil(seconds ?? 0));
    action.hidden = offered === null;
    action.textContent = offered?.label ?? "";
    act = offered?.run ?? act;
    form.hidden = !wantsKey;
    // A button that is gone must not take the focus back to the top of the page.
    if (line.contains(focused) && !focused?.checkVisibility()) words.focus();
  }

  return {
    say,
    /** @param {ApiError} error @param {number | null} seconds until it is tried again @param {() => void} again */
    trouble(error, seconds, again) {
      const isKey = error.kind === "key";
      // A service that said when to come again is not asked before.
      const isTold = seconds !== null && error.kind !== "network";
      const action = isKey || isTold ? null : { label: t("again"), run: again };
      say({ text: explain(error), isTrouble: true, seconds, action, wantsKey: isKey });
    },
  };
}
