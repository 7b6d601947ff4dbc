/**
 * @file A text as the paragraphs that it is made of. Each is translated and remembered alone: who changes one line of a
 * long text waits for that line only, and no text is too long for the service.
 */

import { inUnits } from "./pieces.js";

/** @typedef {import("./api.js").Span} Span */
/** @typedef {import("./api.js").Translation} Translation */
/** @typedef {import("./api.js").Alignment} Alignment */
/** @typedef {{text: string, translation: Translation, alignment?: Alignment}} Known a paragraph that has been translated */
/**
 * Offsets are in UTF-16 units of the whole text and of the whole translation.
 * @typedef {{source: Span, target: Span, flags: string[], from: string, part: number}} WholeSentence
 * @typedef {object} Whole
 * @property {string} source the text
 * @property {string} text the translation
 * @property {string} from the language of most of it
 * @property {string} to
 * @property {number | null} confidence that of the least sure sentence, null where the service gives none
 * @property {WholeSentence[]} sentences
 * @property {{known: Known, source: number, target: number}[]} parts with where each begins in both texts
 */

/** The code of no language in particular. */
export const UNKNOWN = "und";
/** Characters in one piece; the service takes 5,000 unless it is told otherwise. */
const LONGEST = 2000;
/** A full stop in a number or an address ends no sentence, nor does a comma there part words. */
const AFTER_SENTENCE = /^.*(?:[.!?…]["”’)]*\s+|[。！？…]["”’」』)]*\s*)/su;
const AFTER_WORD = /^.*(?:[\s，、；]|[,;](?=\D))/su;
/** Pieces and characters in one request: few enough that the first appear at once. */
const MOST_PIECES = 40;
const MOST_CHARACTERS = 2000;
/** A sentence that is less sure than this is one to look at. */
const SURE_ENOUGH = 0.5;

/**
 * Cut what is too long after a sentence, or between words, or anywhere.
 * @param {string} text
 * @returns {number[]} where pieces end
 */
function ends(text) {
  if (text.length <= LONGEST) return [text.length];
  /** @type {number[]} */
  const found = [];
  let start = 0;
  while (text.length - start > LONGEST) {
    const reach = text.slice(start, start + LONGEST);
    const stops = [AFTER_SENTENCE, AFTER_WORD].map((pattern) => pattern.exec(reach)?.[0].length ?? 0);
    // A character of two units stays whole.
    const anywhere = /[\ud800-\udbff]$/.test(reach) ? LONGEST - 1 : LONGEST;
    start += stops.find((length) => length > LONGEST / 4) ?? anywhere;
    found.push(start);
  }
  return [...found, text.length];
}

/**
 * Spans of a text's paragraphs without the blanks around them, none longer than one piece may be.
 * @param {string} text
 * @returns {Span[]}
 */
export function paragraphs(text) {
  /** @type {Span[]} */
  const spans = [];
  let line = 0;
  for (const paragraph of text.split("\n")) {
    let start = 0;
    for (const end of ends(paragraph)) {
      const piece = paragraph.slice(start, end);
      const blank = piece.length - piece.trimStart().length;
      if (piece.trim()) spans.push([line + start + blank, line + start + piece.trimEnd().length]);
      start = end;
    }
    line += paragraph.length + 1;
  }
  return spans;
}

/**
 * Pieces in groups for one request each.
 * @param {string[]} pieces
 * @returns {string[][]}
 */
export function groups(pieces) {
  /** @type {string[][]} */
  const found = [];
  let n = 0;
  for (const piece of pieces) {
    const last = found[found.length - 1];
    n += piece.length;
    if (last && last.length < MOST_PIECES && n <= MOST_CHARACTERS) last.push(piece);
    else {
      found.push([piece]);
      n = piece.length;
    }
  }
  return found;
}

/** @param {Span} span @param {number} by @returns {Span} */
const shift = ([start, end], by) => [start + by, end + by];

/**
 * What a translation or a sentence of it has to be looked at for.
 * @param {{flags?: string[], confidence?: number | null}} said
 */
function flagsOf({ flags = [], confidence }) {
  const isUnsure = typeof confidence === "number" && confidence < SURE_ENOUGH;
  return isUnsure ? [...flags, "low_confidence"] : flags;
}

/**
 * @param {Known} known
 * @returns {{source: Span, target: Span, flags: string[]}[]} its sentences, in UTF-16 units
 */
function sentencesOf({ text, translation }) {
  const { sentences } = translation;
  // What is said of a text in one piece is said of that piece.
  if (sentences.length < 2) {
    return [{ source: [0, text.length], target: [0, translation.text.length], flags: flagsOf(translation) }];
  }
  const source = inUnits(text, sentences.map((sentence) => sentence.source));
  const target = inUnits(translation.text, sentences.map((sentence) => sentence.target));
  return sentences.map((sentence, i) => ({ source: source[i], target: target[i], flags: flagsOf(sentence) }));
}

/** @param {Known[]} parts @returns {string | undefined} the language of the longest that has one */
export function languageOf(parts) {
  const telling = parts.filter(({ translation }) => translation.source !== UNKNOWN);
  const all = telling.length ? telling : parts;
  const longest = all.reduce((best, known) => (known.text.length > best.text.length ? known : best), all[0]);
  return longest?.translation.source;
}

/** @param {Known[]} parts @returns {number | null} of the least sure, as the service says it of several sentences */
function leastConfidence(parts) {
  const sure = parts.flatMap(({ translation }) => translation.confidence ?? []);
  return sure.length ? Math.min(...sure) : null;
}

/**
 * A text and its translated paragraphs as one translation. Where some are not known yet it ends before the first of them.
 * @param {string} source
 * @param {string} to
 * @param {(piece: string) => Known | undefined} look
 * @returns {Whole}
 */
export function assemble(source, to, look) {
  // Chinese and Japanese put no blank between sentences.
  const blank = /^(zh|ja|yue)/.test(to) ? "" : " ";
  /** @type {Whole["parts"]} */
  const parts = [];
  /** @type {WholeSentence[]} */
  const sentences = [];
  let [text, end] = ["", 0];
  for (const [start, stop] of paragraphs(source)) {
    const known = look(source.slice(start, stop));
    if (!known) break;
    const gap = source.slice(end, start);
    text += gap.includes("\n") || end === 0 ? gap : blank;
    for (const { source: own, target: other, flags } of sentencesOf(known)) {
      const from = known.translation.source;
      sentences.push({ source: shift(own, start), target: shift(other, text.length), flags, from, part: parts.length });
    }
    parts.push({ known, source: start, target: text.length });
    text += known.translation.text;
    end = stop;
  }
  const all = parts.map(({ known }) => known);
  return {
    source, text, to, sentences, parts,
    from: languageOf(all) ?? "",
    confidence: leastConfidence(all),
  };
}

/**
 * The words of the paragraphs whose alignment is known.
 * @param {Whole} whole
 * @returns {Alignment} in UTF-16 units
 */
export function wordsOf(whole) {
  /** @type {Alignment} */
  const all = { source: [], target: [], links: [] };
  for (const { known, source, target } of whole.parts) {
    const { alignment, text, translation } = known;
    if (!alignment) continue;
    const [i, j] = [all.source.length, all.target.length];
    all.source.push(...inUnits(text, alignment.source).map((span) => shift(span, source)));
    all.target.push(...inUnits(translation.text, alignment.target).map((span) => shift(span, target)));
    for (const [word, other, weight] of alignment.links) all.links.push([word + i, other + j, weight]);
  }
  return all;
}
