/** @file The reader's own terms, a list for each pair of languages, kept in the browser and sent along with every text. */

import { byId, cross, el, heading } from "./dom.js";
import { t } from "./i18n.js";
import { fields, load, save } from "./store.js";

/** @typedef {import("./api.js").Term} Term */

/** @returns {Record<string, Term[]>} by "en>zh" */
function all() {
  /** @type {Record<string, Term[]>} */
  const lists = {};
  for (const [pair, terms] of Object.entries(fields(load("glossary")))) {
    if (!Array.isArray(terms)) continue;
    lists[pair] = terms.filter((term) => typeof term?.source === "string" && typeof term.target === "string");
  }
  return lists;
}

/** What the service drops of a term before it looks at it. */
const INVISIBLE = /[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]/g;

/** A text as the service reads it. @param {string} text */
const plain = (text) => text.replace(INVISIBLE, "").normalize("NFC").replace(/\s+/gu, " ").trim();

/** Characters of a term that the service takes. */
const LONGEST_TERM = 200;

/**
 * The terms to send, without those that the service would refuse. Of a text in a language yet to be detected nobody
 * knows the list, so every list into the target serves. Of terms with the same source, as the service reads it, the
 * first: it takes no two.
 * @param {string} from a language, or "auto"
 * @param {string} to
 * @returns {Term[]}
 */
export function termsFor(from, to) {
  const lists = Object.entries(all()).filter(([pair]) => (from === "auto" ? pair.endsWith(`>${to}`) : pair === `${from}>${to}`));
  const isTaken = (/** @type {Term} */ { source, target }) =>
    /[\p{L}\p{N}\p{P}\p{S}]/u.test(source) && source.length <= LONGEST_TERM && target.length <= LONGEST_TERM;
  const terms = lists.flatMap(([, list]) => list).filter(isTaken).reverse();
  return [...new Map(terms.map((term) => [plain(term.source), term])).values()].reverse();
}

/** Sources of terms in small letters: for a text of many lines each is asked for often. @type {WeakMap<Term, string>} */
const lowers = new WeakMap();

/** @param {Term} term */
function lowerOf(term) {
  const lower = lowers.get(term) ?? plain(term.source).toLowerCase();
  lowers.set(term, lower);
  return lower;
}

/** The service takes this many at a time. */
const MOST_TERMS = 200;

/**
 * The terms that a text can need.
 * @param {Term[]} terms
 * @param {string} text
 */
export function occurring(terms, text) {
  const lower = plain(text).toLowerCase();
  return terms.filter((term) => lower.includes(lowerOf(term))).slice(0, MOST_TERMS);
}

/**
 * Lines of a sheet, two columns, as a spreadsheet puts them on the clipboard.
 * @param {string} text
 * @returns {Term[]}
 */
export function parseTerms(text) {
  return text
    .split("\n")
    .map((line) => line.replace(/\r$/, "").split("\t"))
    .filter((cells) => cells[0].trim())
    .map(([source, target = ""]) => ({ source: source.trim(), target: target.trim() }));
}

/**
 * @param {() => {from: string, to: string, title: string} | null} pair whose list is edited
 * @param {() => void} onChange after the dialog has been closed with other terms than before
 */
export function setUpGlossary(pair, onChange) {
  const dialog = byId("glossary", HTMLDialogElement);
  const rows = el("tbody", {});
  let before = "";
  let key = "";

  function read() {
    const inputs = [...rows.querySelectorAll("tr")].map((row) => [...row.querySelectorAll("input")].map((input) => input.value.trim()));
    return inputs.filter(([source]) => source).map(([source, target]) => ({ source, target }));
  }

  function keep() {
    const lists = { ...all(), [key]: read() };
    if (!lists[key].length) delete lists[key];
    save("glossary", Object.keys(lists).length ? lists : undefined);
  }

  /** @param {Term} term */
  function row(term) {
    const field = (/** @type {"term_source" | "term_target"} */ label, /** @type {string} */ value) => {
      const input = el("input", { class: "field", "aria-label": t(label), dir: "auto", maxlength: LONGEST_TERM, input: keep });
      input.value = value;
      return el("td", {}, input);
    };
    const remove = cross(t("remove"), () => {
      const neighbour = line.nextElementSibling ?? line.previousElementSibling;
      line.remove();
      keep();
      (neighbour?.querySelector("input") ?? add).focus();
    });
    const line = el("tr", {}, field("term_source", term.source), field("term_target", term.target), el("td", {}, remove));
    return line;
  }

  const add = el("button", { class: "link", type: "button", click: () => {
    rows.append(row({ source: "", target: "" }));
    rows.lastElementChild?.querySelector("input")?.focus();
  } });

  function fill() {
    rows.replaceChildren(...[...(all()[key] ?? []), { source: "", target: "" }].map(row));
  }

  // Two columns pasted from a spreadsheet become rows.
  rows.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    const terms = text.includes("\t") ? parseTerms(text) : [];
    if (!terms.length) return;
    event.preventDefault();
    const line = /** @type {Element} */ (event.target).closest("tr");
    line?.after(...terms.map(row));
    line?.nextElementSibling?.querySelector("input")?.focus();
    if (line && ![...line.querySelectorAll("input")].some((input) => input.value)) line.remove();
    keep();
  });

  // Terms of another tab are saved: the next letter here would put this list in their place.
  window.addEventListener("storage", (event) => {
    if (dialog.open && event.key === "yiwen.glossary") fill();
  });
  dialog.addEventListener("close", () => {
    if (JSON.stringify(read()) !== before) onChange();
  });

  byId("open-glossary", HTMLButtonElement).addEventListener("click", () => {
    const chosen = pair();
    if (!chosen) return;
    key = `${chosen.from}>${chosen.to}`;
    fill();
    before = JSON.stringify(read());
    add.textContent = t("term_add");
    const header = el("tr", {}, el("th", { scope: "col" }, t("term_source")), el("th", { scope: "col" }, t("term_target")),
      el("td", {}));
    dialog.replaceChildren(
      heading("glossary-title", t("glossary"), t("close"), () => dialog.close()),
      el("p", { class: "lead" }, chosen.title),
      el("p", { class: "quiet" }, t("glossary_help")),
      el("table", { class: "terms" }, el("thead", {}, header), rows),
      add,
    );
    dialog.showModal();
    rows.lastElementChild?.querySelector("input")?.focus();
  });
}
