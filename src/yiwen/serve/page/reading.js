/**
 * @file A translation to read: sentences and words of both sides that light up together.
 *
 * The source is a textarea, which cannot hold elements. A mirror with the same letters lies beneath it, cut into the
 * same sentences and words; their backgrounds shine through, and the pointer finds them with elementsFromPoint.
 * The whole translation is one tab stop: up and down move between sentences, left and right between words.
 */

import { el } from "./dom.js";
import { t } from "./i18n.js";
import { wordsOf } from "./paragraphs.js";
import { cut, partners, within } from "./pieces.js";

/** @typedef {import("./paragraphs.js").Whole} Whole */
/** @typedef {import("./api.js").Alignment} Alignment */
/** @typedef {import("./api.js").Span} Span */
/** @typedef {"source" | "target"} Side */
/**
 * @typedef {object} Parts
 * @property {HTMLElement} mirror
 * @property {HTMLTextAreaElement} textarea
 * @property {HTMLElement} output
 * @property {HTMLElement} announce what screen readers hear
 * @property {(sentence: number) => Promise<void>} wantWords somebody looks at a sentence whose words are not known yet
 * @property {(sentence: number, before: string) => void} open a sentence, with what stands before the chosen word
 * @property {(flags: string[]) => string} describe
 */

const SIDES = /** @type {Side[]} */ (["source", "target"]);

/**
 * @param {HTMLElement} container
 * @param {string} text
 * @param {Span[]} sentences
 * @param {Span[]} words
 */
function draw(container, text, sentences, words) {
  const nodes = cut([0, text.length], sentences).map(({ start, end, index }) => {
    if (index === null) return text.slice(start, end);
    const [first, last] = within(words, [start, end]);
    const inner = cut([start, end], words.slice(first, last), first).map((piece) => {
      const letters = text.slice(piece.start, piece.end);
      return piece.index === null ? letters : el("span", { class: "token", "data-word": piece.index }, letters);
    });
    return el("span", { class: "sentence", "data-sentence": index }, ...inner);
  });
  container.replaceChildren(...nodes);
}

/**
 * Of each sentence: its number among those that are alike, the language of its translation, and both texts.
 * @param {Whole} whole
 */
export function keysOf({ source, text, to, sentences }) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  return sentences.map((sentence) => {
    const pair = JSON.stringify([to, source.slice(...sentence.source), text.slice(...sentence.target)]);
    const nth = counts.get(pair) ?? 0;
    counts.set(pair, nth + 1);
    return `${nth} ${pair}`;
  });
}

/** @param {Parts} parts */
export function createReading({ mirror, textarea, output, announce, wantWords, open, describe }) {
  const boxes = { source: mirror, target: output };
  /** @type {Whole | null} */
  let shown = null;
  let texts = { source: "", target: "" };
  /** @type {{source: Span[], target: Span[]}} */
  let sentences = { source: [], target: [] };
  /** @type {{source: Span[], target: Span[]}} */
  let words = { source: [], target: [] };
  let links = partners([]);
  /** What the reader has put in a sentence's place, by its key. @type {Map<string, string>} */
  const edits = new Map();
  /** Of each sentence what tells it from others wherever it stands: a choice stays while the text around changes. */
  let keys = /** @type {string[]} */ ([]);
  let current = 0;
  /** @type {number | null} */
  let word = null;
  /** Lights again what is looked at, when its words have arrived. */
  let relight = () => {};
  /** Kept when no button is down on the translation: an element that is drawn anew under one gets no click. */
  let released = Promise.resolve();
  let release = () => {};

  /** Whether the text in the box is still the one that was translated. */
  const isCurrent = () => shown !== null && textarea.value === texts.source;

  /** @param {Side} side @param {"sentence" | "word"} kind @param {number} index */
  const find = (side, kind, index) =>
    /** @type {HTMLElement | null} */ (boxes[side].querySelector(`[data-${kind}="${index}"]`));

  /** @param {number} sentence */
  function hasWords(sentence) {
    const [first, end] = within(words.target, sentences.target[sentence] ?? [0, 0]);
    return first < end;
  }

  function dim() {
    relight = () => {};
    for (const side of SIDES) {
      for (const node of boxes[side].querySelectorAll(".lit, .near")) node.classList.remove("lit", "near");
    }
  }

  /** @param {Side} side @param {number} index @returns {string} the words on the other side */
  function lightWord(side, index) {
    find(side, "word", index)?.classList.add("lit");
    const other = side === "source" ? "target" : "source";
    const found = (links[side].get(index) ?? []).map((partner) => find(other, "word", partner));
    for (const node of found) node?.classList.add("lit");
    return found.map((node) => node?.textContent ?? "").join(" ");
  }

  /** @param {Side} side @param {number} sentence @param {number | null} token */
  function light(side, sentence, token) {
    dim();
    if (!isCurrent()) return;
    if (!hasWords(sentence)) void wantWords(sentence);
    for (const box of SIDES) find(box, "sentence", sentence)?.classList.add("near");
    if (token !== null) lightWord(side, token);
  }

  /** @param {Side} side @param {number} x @param {number} y where the pointer is */
  function lightAt(side, x, y) {
    const node = document.elementsFromPoint(x, y).find((each) => each !== boxes[side] && boxes[side].contains(each));
    const sentence = /** @type {HTMLElement | null | undefined} */ (node?.closest("[data-sentence]"));
    const token = /** @type {HTMLElement | null | undefined} */ (node?.closest("[data-word]"));
    if (!sentence) return dim();
    light(side, Number(sentence.dataset.sentence), token ? Number(token.dataset.word) : null);
    relight = () => lightAt(side, x, y);
  }

  /** The sentence and the word that the caret of the source stands in. */
  function lightCaret() {
    const caret = textarea.selectionStart;
    /** @param {Span} span */
    const holds = ([start, end]) => start <= caret && caret < end;
    const [sentence, token] = [sentences.source.findIndex(holds), words.source.findIndex(holds)];
    if (sentence >= 0) light("source", sentence, token < 0 ? null : token);
    relight = lightCaret;
  }

  /** @param {number} index */
  function mark(index) {
    const node = find("target", "sentence", index);
    if (!node) return;
    const edit = edits.get(keys[index]);
    const remark = edit === undefined ? describe(shown?.sentences[index]?.flags ?? []) : "";
    if (edit !== undefined) node.replaceChildren(edit);
    node.setAttribute("role", "button");
    node.setAttribute("tabindex", index === current ? "0" : "-1");
    // The title is heard only where nothing else describes.
    if (remark) node.removeAttribute("aria-describedby");
    else node.setAttribute("aria-describedby", "output-hint");
    node.classList.toggle("edited", edit !== undefined);
    node.classList.toggle("flagged", remark !== "");
    node.title = remark;
  }

  function redraw() {
    const hadFocus = output.contains(document.activeElement);
    if (isCurrent()) {
      draw(mirror, texts.source, sentences.source, words.source);
      mirror.append("\n");
    }
    draw(output, texts.target, sentences.target, words.target);
    sentences.target.forEach((_, index) => mark(index));
    if (hadFocus) find("target", "sentence", current)?.focus();
  }

  /** @param {Alignment} alignment */
  function align(alignment) {
    words = { source: alignment.source, target: alignment.target };
    links = partners(alignment.links);
    const again = relight;
    redraw();
    again();
  }

  /** @param {number} index */
  function goTo(index) {
    find("target", "sentence", current)?.setAttribute("tabindex", "-1");
    current = Math.min(Math.max(index, 0), sentences.target.length - 1);
    word = null;
    const node = find("target", "sentence", current);
    node?.setAttribute("tabindex", "0");
    node?.focus();
    light("target", current, null);
  }

  /** @param {number} by */
  async function stepWord(by) {
    if (!hasWords(current)) await wantWords(current);
    const [first, end] = within(words.target, sentences.target[current] ?? [0, 0]);
    if (first >= end || edits.has(keys[current])) return;
    const next = word === null ? (by > 0 ? first : end - 1) : word + by;
    word = Math.min(Math.max(next, first), end - 1);
    dim();
    const others = lightWord("target", word);
    announce.textContent = t("word_from", { word: find("target", "word", word)?.textContent ?? "", source: others || "–" });
  }

  /** @param {number | null} token */
  function openAt(token) {
    const start = sentences.target[current]?.[0] ?? 0;
    const before = token === null || edits.has(keys[current]) ? "" : texts.target.slice(start, words.target[token][0]);
    open(current, before);
  }

  output.addEventListener("keydown", (event) => {
    const isRtl = getComputedStyle(output).direction === "rtl";
    /** @type {Record<string, () => unknown>} */
    const moves = {
      ArrowDown: () => goTo(current + 1),
      ArrowUp: () => goTo(current - 1),
      Home: () => goTo(0),
      End: () => goTo(sentences.target.length - 1),
      ArrowRight: () => stepWord(isRtl ? -1 : 1),
      ArrowLeft: () => stepWord(isRtl ? 1 : -1),
      Enter: () => openAt(word),
      " ": () => openAt(word),
    };
    const move = event.ctrlKey || event.metaKey || event.altKey ? undefined : moves[event.key];
    if (!move || !sentences.target.length) return;
    event.preventDefault();
    move();
  });
  output.addEventListener("focusin", () => {
    if (word === null) light("target", current, null);
  });
  output.addEventListener("focusout", () => {
    word = null;
    dim();
  });
  output.addEventListener("pointerdown", () => {
    release();
    released = new Promise((resolve) => (release = resolve));
  });
  // The click itself comes after these, and before what waits for a timer.
  for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, () => setTimeout(release));
  output.addEventListener("click", (event) => {
    const node = /** @type {Element} */ (event.target);
    const sentence = /** @type {HTMLElement | null} */ (node.closest("[data-sentence]"));
    const token = /** @type {HTMLElement | null} */ (node.closest("[data-word]"));
    // Somebody who marks text to copy it is not asking for alternatives.
    if (!sentence || !getSelection()?.isCollapsed) return;
    goTo(Number(sentence.dataset.sentence));
    openAt(token ? Number(token.dataset.word) : null);
  });
  output.addEventListener("pointermove", (event) => lightAt("target", event.clientX, event.clientY));
  textarea.addEventListener("pointermove", (event) => lightAt("source", event.clientX, event.clientY));
  for (const node of [output, textarea]) node.addEventListener("pointerleave", dim);
  textarea.addEventListener("blur", dim);
  textarea.addEventListener("keyup", (event) => {
    if (/^(Arrow|Home|End|Page)/.test(event.key)) lightCaret();
  });

  return {
    /** The text in the box has changed: its mirror follows at once. */
    typed() {
      if (isCurrent()) return redraw();
      mirror.textContent = `${textarea.value}\n`;
      dim();
    },
    /** @param {Whole} whole */
    show(whole) {
      shown = whole;
      texts = { source: whole.source, target: whole.text };
      sentences = {
        source: whole.sentences.map(({ source }) => source),
        target: whole.sentences.map(({ target }) => target),
      };
      keys = keysOf(whole);
      [current, word] = [0, null];
      output.lang = whole.to;
      align(wordsOf(whole));
    },
    /** What has arrived of a long text, or what is shown until something arrives. @param {string} text @param {string} [of] */
    showPart(text, of = "") {
      shown = null;
      keys = [];
      texts = { source: of, target: text };
      sentences = { source: [], target: [] };
      output.textContent = text;
    },
    align,
    released: () => released,
    /** Put other words in a sentence's place, wherever it stands by now. @param {string} key @param {string} text */
    replace(key, text) {
      edits.set(key, text);
      mark(keys.indexOf(key));
    },
    focus: goTo,
    /** @param {number} index */
    open(index) {
      goTo(index);
      openAt(null);
    },
    text: () => output.textContent ?? "",
    /** The text that all of the translation is of; none while there are parts of one only. */
    of: () => texts.source,
    shown: () => shown,
    current: () => current,
    /** @param {number} index @returns {{key: string, source: string, target: string}} a sentence as it stands on both sides */
    sentence: (index) => ({
      key: keys[index] ?? "",
      source: texts.source.slice(...(sentences.source[index] ?? [0, 0])),
      target: edits.get(keys[index]) ?? texts.target.slice(...(sentences.target[index] ?? [0, 0])),
    }),
  };
}
