/** @file What was translated here, kept in this browser only, until its reader clears it or turns it off. */

import { byId, cross, el, heading } from "./dom.js";
import { interfaceLanguage, t } from "./i18n.js";
import { fields, load, save } from "./store.js";

/** @typedef {{from: string, to: string, source: string, target: string, time: number}} Entry */

const MOST = 100;
const LONGEST = 20_000;

/** @returns {Entry[]} newest first */
function entries() {
  const kept = fields(load("history")).entries;
  if (!Array.isArray(kept)) return [];
  return kept.filter((entry) => ["from", "to", "source", "target"].every((name) => typeof entry?.[name] === "string"));
}

const isOn = () => fields(load("history")).off !== true;

/** @param {Entry[]} kept */
function store(kept) {
  let list = kept.slice(0, MOST);
  // Full storage gives up the oldest half, and again.
  while (!save("history", { off: !isOn(), entries: list }) && list.length) list = list.slice(0, Math.floor(list.length / 2));
}

/**
 * Keep a translation. While somebody goes on typing, the longer text takes its predecessor's place, and one from which
 * a little was taken away, too; a text that merely begins like a long one does not.
 * @param {Entry} entry
 */
export function keep(entry) {
  if (!isOn() || entry.source.length > LONGEST) return;
  const kept = entries();
  const last = kept[0];
  const grows = last && last.from === entry.from && last.to === entry.to
    && (entry.source.startsWith(last.source)
      || (last.source.startsWith(entry.source) && entry.source.length > last.source.length / 2));
  store([entry, ...(grows ? kept.slice(1) : kept)]);
}

/**
 * @param {(entry: Entry) => void} restore
 * @param {(code: string) => string} name of a language
 */
export function setUpHistory(restore, name) {
  const dialog = byId("history", HTMLDialogElement);

  /** @param {Entry} entry @param {number} index */
  function line(entry, index) {
    const when = new Date(entry.time).toLocaleString(interfaceLanguage(), { dateStyle: "medium", timeStyle: "short" });
    const open = el("button", { class: "entry", type: "button" },
      el("span", { class: "quiet" }, `${name(entry.from)} → ${name(entry.to)} · ${when}`),
      el("span", { class: "clip", dir: "auto", lang: entry.from }, entry.source),
      el("span", { class: "clip", dir: "auto", lang: entry.to }, entry.target));
    open.addEventListener("click", () => {
      dialog.close();
      restore(entry);
    });
    const remove = cross(t("remove"), () => {
      store(entries().filter((other) => JSON.stringify(other) !== JSON.stringify(entry)));
      draw();
      const removes = dialog.querySelectorAll("li .tool");
      /** @type {HTMLElement} */ (removes[Math.min(index, removes.length - 1)] ?? byId("history-title", HTMLElement)).focus();
    });
    return el("li", {}, open, remove);
  }

  function draw() {
    const kept = entries();
    const toggle = el("input", { type: "checkbox", id: "history-on" });
    toggle.checked = isOn();
    toggle.addEventListener("change", () => save("history", { off: !toggle.checked, entries: entries() }));
    const clear = el("button", { class: "tool", type: "button", disabled: kept.length === 0 }, t("history_clear"));
    clear.addEventListener("click", () => {
      store([]);
      draw();
      byId("history-title", HTMLElement).focus();
    });
    dialog.replaceChildren(
      heading("history-title", t("history"), t("close"), () => dialog.close()),
      el("p", { class: "quiet" }, t("history_help")),
      el("div", { class: "row" }, el("label", { class: "check" }, toggle, t("history_on")), el("span", { class: "space" }), clear),
      kept.length ? el("ul", { class: "entries" }, ...kept.map(line)) : el("p", { class: "none" }, t("history_none")),
    );
  }

  byId("open-history", HTMLButtonElement).addEventListener("click", () => {
    draw();
    dialog.showModal();
  });
}
