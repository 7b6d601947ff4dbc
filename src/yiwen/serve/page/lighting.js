/** @file What lights up on both sides: the sentence that is looked at, and a word with its partners on the other side. */

import { within } from "./pieces.js";

/** @typedef {import("./api.js").Span} Span */
/** @typedef {"source" | "target"} Side */
/**
 * What stands in a box, offsets in UTF-16 units.
 * @typedef {object} Drawn
 * @property {string} text
 * @property {Span[]} sentences
 * @property {Span[]} words
 * @property {Map<number, number[]>} partners of each word those on the other side
 */

/**
 * The element of a sentence or a word.
 * @param {HTMLElement} box
 * @param {"sentence" | "word"} kind
 * @param {number} index
 */
export const find = (box, kind, index) => /** @type {HTMLElement | null} */ (box.querySelector(`[data-${kind}="${index}"]`));

/**
 * The sentence and the word that an element lies in.
 * @param {Element | undefined} node
 * @returns {{sentence: number | null, word: number | null}}
 */
export function indicesAt(node) {
  const sentence = /** @type {HTMLElement | null | undefined} */ (node?.closest("[data-sentence]"));
  const word = /** @type {HTMLElement | null | undefined} */ (node?.closest("[data-word]"));
  return { sentence: sentence ? Number(sentence.dataset.sentence) : null, word: word ? Number(word.dataset.word) : null };
}

/**
 * @param {object} parts
 * @param {Record<Side, HTMLElement>} parts.boxes
 * @param {HTMLTextAreaElement} parts.textarea
 * @param {() => Record<Side, Drawn>} parts.drawn
 * @param {() => boolean} parts.isCurrent whether what is drawn is of the text in the box
 * @param {(sentence: number) => Promise<void>} parts.wantWords somebody looks at a sentence whose words are not known yet
 */
export function createLighting({ boxes, textarea, drawn, isCurrent, wantWords }) {
  /** Lights again what is looked at, when its words have arrived. */
  let again = () => {};

  /** @param {number} sentence whether its words are known */
  function hasWords(sentence) {
    const { sentences, words } = drawn().target;
    const [first, end] = within(words, sentences[sentence] ?? [0, 0]);
    return first < end;
  }

  function dim() {
    again = () => {};
    for (const box of Object.values(boxes)) {
      for (const node of box.querySelectorAll(".lit, .near")) node.classList.remove("lit", "near");
    }
  }

  /** @param {Side} side @param {number} index @returns {string} the words on the other side */
  function lightWord(side, index) {
    find(boxes[side], "word", index)?.classList.add("lit");
    const other = boxes[side === "source" ? "target" : "source"];
    const found = (drawn()[side].partners.get(index) ?? []).map((partner) => find(other, "word", partner));
    for (const node of found) node?.classList.add("lit");
    return found.map((node) => node?.textContent ?? "").join(" ");
  }

  /** @param {Side} side @param {number} sentence @param {number | null} word */
  function light(side, sentence, word) {
    dim();
    if (!isCurrent()) return;
    if (!hasWords(sentence)) void wantWords(sentence);
    for (const box of Object.values(boxes)) find(box, "sentence", sentence)?.classList.add("near");
    if (word !== null) lightWord(side, word);
  }

  /** @param {Side} side @param {number} x @param {number} y where the pointer is */
  function lightAt(side, x, y) {
    const box = boxes[side];
    const { sentence, word } = indicesAt(document.elementsFromPoint(x, y).find((node) => node !== box && box.contains(node)));
    if (sentence === null) return dim();
    light(side, sentence, word);
    again = () => lightAt(side, x, y);
  }

  /** The sentence and the word that the caret of the source stands in. */
  function lightCaret() {
    const caret = textarea.selectionStart;
    const { sentences, words } = drawn().source;
    /** @param {Span} span */
    const holds = ([start, end]) => start <= caret && caret < end;
    const [sentence, word] = [sentences.findIndex(holds), words.findIndex(holds)];
    if (sentence < 0) dim();
    else light("source", sentence, word < 0 ? null : word);
    again = lightCaret;
  }

  boxes.target.addEventListener("pointermove", (event) => lightAt("target", event.clientX, event.clientY));
  textarea.addEventListener("pointermove", (event) => lightAt("source", event.clientX, event.clientY));
  for (const node of [boxes.target, textarea]) node.addEventListener("pointerleave", dim);
  textarea.addEventListener("blur", dim);
  textarea.addEventListener("keyup", (event) => {
    if (/^(Arrow|Home|End|Page)/.test(event.key)) lightCaret();
  });

  return {
    dim,
    light,
    lightWord,
    hasWords,
    /** Draw anew, and light what is looked at again. @param {() => void} draw */
    through(draw) {
      const wanted = again;
      draw();
      wanted();
    },
  };
}
