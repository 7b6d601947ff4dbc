/**
 * @file A translation to read: sentences and words of both sides that light up together.
 *
 * The source is a textarea, which cannot hold elements. A mirror with the same letters lies beneath it, cut into the
 * same sentences and words; their backgrounds shine through, and the pointer finds them with elementsFromPoint.
 * The whole translation is one tab stop: up and down move between sentences, left and right between words.
 */

import { el, keepingMark } from "./dom.js";
import { t } from "./i18n.js";
import { createLighting, find, indicesAt } from "./lighting.js";
import { wordsOf } from "./paragraphs.js";
import { cut, partners, within } from "./pieces.js";

/** @typedef {import("./paragraphs.js").Whole} Whole */
/** @typedef {import("./api.js").Alignment} Alignment */
/** @typedef {import("./api.js").Span} Span */
/** @typedef {import("./lighting.js").Drawn} Drawn */
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

/** @param {string} text @param {Span[]} [sentences] @returns {Drawn} a text whose words are not known yet */
const wordless = (text, sentences = []) => ({ text, sentences, words: [], partners: new Map() });

/** @param {HTMLElement} container @param {Drawn} drawn */
function draw(container, { text, sentences, words }) {
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
function keysOf({ source, text, to, sentences }) {
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
  /** @type {Whole | null} */
  let shown = null;
  let drawn = { source: wordless(""), target: wordless("") };
  /** What the reader has put in a sentence's place, by its key. @type {Map<string, string>} */
  const edits = new Map();
  /** Of each sentence what tells it from others wherever it stands: a choice stays while the text around changes. */
  let keys = /** @type {string[]} */ ([]);
  let current = 0;
  /** @type {number | null} */
  let word = null;
  /** Kept when no button is down on the translation: an element that is drawn anew under one gets no click. */
  let released = Promise.resolve();
  let release = () => {};

  /** Whether the text in the box is still the one that was translated. */
  const isCurrent = () => shown !== null && textarea.value === drawn.source.text;

  const lighting = createLighting({
    boxes: { source: mirror, target: output }, textarea, drawn: () => drawn, isCurrent, wantWords,
  });

  /** @param {number} index */
  const sentenceAt = (index) => find(output, "sentence", index);
  /** @param {number} index @returns {Span} */
  const spanOf = (index) => drawn.target.sentences[index] ?? [0, 0];

  /** @param {number} index */
  function mark(index) {
    const node = sentenceAt(index);
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
      draw(mirror, drawn.source);
      mirror.append("\n");
    }
    keepingMark(output, () => {
      draw(output, drawn.target);
      drawn.target.sentences.forEach((_, index) => mark(index));
    });
    if (hadFocus) sentenceAt(current)?.focus();
  }

  /** @param {Alignment} alignment */
  function align(alignment) {
    const linked = partners(alignment.links);
    drawn = {
      source: { ...drawn.source, words: alignment.source, partners: linked.source },
      target: { ...drawn.target, words: alignment.target, partners: linked.target },
    };
    lighting.through(redraw);
  }

  /** @param {number} index */
  function goTo(index) {
    sentenceAt(current)?.setAttribute("tabindex", "-1");
    current = Math.min(Math.max(index, 0), drawn.target.sentences.length - 1);
    word = null;
    const node = sentenceAt(current);
    node?.setAttribute("tabindex", "0");
    node?.focus();
    lighting.light("target", current, null);
  }

  /** @param {number} by */
  async function stepWord(by) {
    const asked = keys[current];
    if (!lighting.hasWords(current)) await wantWords(current);
    // Who has gone on meanwhile is not led back.
    if (keys[current] !== asked || !output.contains(document.activeElement)) return;
    const [first, end] = within(drawn.target.words, spanOf(current));
    if (first >= end || edits.has(keys[current])) return;
    const next = word === null ? (by > 0 ? first : end - 1) : word + by;
    word = Math.min(Math.max(next, first), end - 1);
    lighting.dim();
    const others = lighting.lightWord("target", word);
    announce.textContent = t("word_from", { word: find(output, "word", word)?.textContent ?? "", source: others || "–" });
  }

  /** @param {number | null} token */
  function openAt(token) {
    const hasBefore = token !== null && !edits.has(keys[current]);
    open(current, hasBefore ? drawn.target.text.slice(spanOf(current)[0], drawn.target.words[token][0]) : "");
  }

  output.addEventListener("keydown", (event) => {
    const isRtl = getComputedStyle(output).direction === "rtl";
    /** @type {Record<string, () => unknown>} */
    const moves = {
      ArrowDown: () => goTo(current + 1),
      ArrowUp: () => goTo(current - 1),
      Home: () => goTo(0),
      End: () => goTo(drawn.target.sentences.length - 1),
      ArrowRight: () => stepWord(isRtl ? -1 : 1),
      ArrowLeft: () => stepWord(isRtl ? 1 : -1),
      Enter: () => openAt(word),
      " ": () => openAt(word),
    };
    const move = event.ctrlKey || event.metaKey || event.altKey ? undefined : moves[event.key];
    if (!move || !drawn.target.sentences.length) return;
    event.preventDefault();
    move();
  });
  output.addEventListener("focusin", () => {
    if (word === null) lighting.light("target", current, null);
  });
  output.addEventListener("focusout", () => {
    word = null;
    lighting.dim();
  });
  output.addEventListener("pointerdown", () => {
    release();
    released = new Promise((resolve) => (release = resolve));
  });
  // The click itself comes after these, and before what waits for a timer.
  for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, () => setTimeout(release));
  output.addEventListener("click", (event) => {
    const at = indicesAt(/** @type {Element} */ (event.target));
    // Somebody who marks text to copy it is not asking for alternatives.
    if (at.sentence === null || !getSelection()?.isCollapsed) return;
    goTo(at.sentence);
    openAt(at.word);
  });

  return {
    /** The text in the box has changed: its mirror follows at once. */
    typed() {
      if (isCurrent()) return redraw();
      mirror.textContent = `${textarea.value}\n`;
      lighting.dim();
    },
    /** @param {Whole} whole */
    show(whole) {
      shown = whole;
      drawn = {
        source: wordless(whole.source, whole.sentences.map(({ source }) => source)),
        target: wordless(whole.text, whole.sentences.map(({ target }) => target)),
      };
      keys = keysOf(whole);
      [current, word] = [0, null];
      for (const box of [mirror, textarea]) box.lang = whole.from;
      output.lang = whole.to;
      align(wordsOf(whole));
    },
    /**
     * What has arrived of a long text, or what is shown until something arrives.
     * @param {string} text @param {string} language @param {string} [of]
     */
    showPart(text, language, of = "") {
      shown = null;
      keys = [];
      drawn = { source: wordless(of), target: wordless(text) };
      // The words in the empty box are the page's own.
      if (!text) for (const box of [mirror, textarea]) box.removeAttribute("lang");
      output.lang = language;
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
    of: () => drawn.source.text,
    shown: () => shown,
    current: () => current,
    /** @param {number} index @returns {{key: string, source: string, target: string}} a sentence as it stands on both sides */
    sentence: (index) => ({
      key: keys[index] ?? "",
      source: drawn.source.text.slice(...(drawn.source.sentences[index] ?? [0, 0])),
      target: edits.get(keys[index]) ?? drawn.target.text.slice(...spanOf(index)),
    }),
  };
}
