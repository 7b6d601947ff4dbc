/**
 * @file Translation as somebody types: one text at a time, the newest; what is running is cancelled, what failed for a
 * passing reason is asked again by itself, and never before the service said it may be.
 */

import { ApiError, translate } from "./api.js";
import { occurring } from "./glossary.js";
import { assemble, groups, languageOf, paragraphs, UNKNOWN } from "./paragraphs.js";

/** @typedef {import("./api.js").Question} Question */
/** @typedef {import("./paragraphs.js").Known} Known */
/** @typedef {import("./paragraphs.js").Whole} Whole */
/** @typedef {Omit<Question, "text"> & {text: string}} Asked */

/** @type {import("./api.js").Alignment} */
const NO_WORDS = { source: [], target: [], links: [] };
/** Paragraphs that are remembered. */
const REMEMBERED = 1000;
/** Fewer characters than this say little about their language; the rest of the text says more. */
const TELLING = 50;

/**
 * What no model was asked for: a text that was in the target language all along, and one of digits or signs alone, is its
 * own translation, in its own language, where nobody said another.
 * @param {import("./api.js").Translation} translation
 * @returns {import("./api.js").Translation}
 */
function asItIs(translation) {
  const parts = translation.sentences.length > 1 ? translation.sentences : [translation];
  const all = (/** @type {string} */ flag) => parts.every(({ flags }) => flags?.includes(flag));
  const source = all("already_target") ? translation.target : all("passed_through") ? UNKNOWN : "";
  return source ? { ...translation, source, confidence: null, flags: [], sentences: [], alignment: NO_WORDS } : translation;
}

/**
 * Seconds to wait before asking again; null where the same question would be refused again.
 * @param {ApiError} error
 * @param {number} attempt how often it failed already, from 0
 * @returns {number | null}
 */
export function waitAfter(error, attempt) {
  if (!["network", "rate", "busy"].includes(error.kind)) return null;
  return error.retryAfter ?? Math.min(2 ** (attempt + 1), 30);
}

/**
 * @typedef {object} Handlers
 * @property {() => void} pending
 * @property {(whole: Whole) => void} part what there is so far
 * @property {(asked: Asked, whole: Whole, about: {model: string, ms: number}) => void} done
 * @property {(error: ApiError, wait: number | null) => void} failed
 *
 * @param {Handlers} handlers
 */
export function createTranslating({ pending, part, done, failed }) {
  /** @type {Map<string, Known>} */
  const memory = new Map();
  /** @type {Asked | null} */
  let question = null;
  let running = new AbortController();
  let timer = 0;
  let attempt = 0;
  let notBefore = 0;
  /** What was said last instead of an answer. @type {ApiError | null} */
  let refusal = null;
  let model = "";

  /** @param {Asked} asked @param {string} piece */
  const keyOf = ({ source, target, glossary = [] }, piece) =>
    JSON.stringify([source, target, piece, occurring(glossary, piece)]);

  /** @param {string} key @param {Known} known @param {number} most those of the text at hand are never forgotten */
  function remember(key, known, most) {
    memory.delete(key);
    memory.set(key, known);
    const oldest = memory.size > most ? memory.keys().next().value : undefined;
    if (oldest !== undefined) memory.delete(oldest);
  }

  /**
   * @param {Asked} asked
   * @param {string[]} group paragraphs to translate together
   * @param {Known[]} known those of the same text that are translated already
   * @param {AbortSignal} signal
   * @returns {ReturnType<typeof translate>}
   */
  async function translateGroup(asked, group, known, signal) {
    const { target, glossary = [] } = asked;
    const isShort = group.join("").length < TELLING;
    const foreign = known.filter(({ translation: { source } }) => source !== UNKNOWN && source !== target);
    const source = asked.source === "auto" && isShort ? languageOf(foreign) ?? "auto" : asked.source;
    const terms = occurring(glossary, group.join("\n"));
    try {
      return await translate({ text: group, source, target, glossary: terms }, signal);
    } catch (error) {
      // A service may be told to take less at a time.
      if (error instanceof ApiError && error.kind === "large" && group.length > 1) {
        const halves = [group.slice(0, group.length / 2), group.slice(group.length / 2)];
        const first = await translateGroup(asked, halves[0], known, signal);
        const second = await translateGroup(asked, halves[1], known, signal);
        const translations = [...first.translations, ...second.translations];
        return { ...second, translations, took_ms: first.took_ms + second.took_ms };
      }
      // The list of another pair is sent where nobody knows the language yet; it must not be in the way.
      if (asked.source !== "auto" || !(error instanceof ApiError) || error.code !== "glossary") throw error;
      return translate({ text: group, source, target, glossary: [] }, signal);
    }
  }

  /** @param {Asked} asked @param {AbortSignal} signal */
  async function work(asked, signal) {
    const { text, target } = asked;
    const look = (/** @type {string} */ piece) => memory.get(keyOf(asked, piece));
    const pieces = new Set(paragraphs(text).map((span) => text.slice(...span)));
    const most = Math.max(REMEMBERED, pieces.size);
    const missing = groups([...pieces].filter((piece) => !look(piece)));
    const known = [...pieces].flatMap((piece) => look(piece) ?? []);
    for (const each of known) remember(keyOf(asked, each.text), each, most);
    let ms = 0;
    for (const [index, group] of missing.entries()) {
      const answer = await translateGroup(asked, group, known, signal);
      group.forEach((piece, i) => {
        const own = answer.translations[i];
        const translation = asked.source === "auto" ? asItIs(own) : own;
        const found = { text: piece, translation, alignment: translation.alignment ?? undefined };
        remember(keyOf(asked, piece), found, most);
      });
      ms += answer.took_ms;
      model = answer.model;
      if (index + 1 < missing.length) part(assemble(text, target, look));
    }
    done(asked, assemble(text, target, look), { model, ms });
  }

  async function run() {
    if (!question) return;
    const asked = question;
    const { signal } = (running = new AbortController());
    pending();
    try {
      await work(asked, signal);
      attempt = 0;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      const wait = waitAfter(error, attempt);
      attempt += 1;
      refusal = error;
      if (wait !== null) {
        notBefore = Date.now() + wait * 1000;
        timer = setTimeout(run, wait * 1000);
      }
      failed(error, wait);
    }
  }

  /** @param {number} delay in ms */
  function schedule(delay) {
    clearTimeout(timer);
    running.abort();
    timer = setTimeout(run, Math.max(delay, notBefore - Date.now()));
  }

  return {
    /** @param {Asked} next @param {number} delay in ms without another question until it is sent */
    ask(next, delay) {
      question = next;
      schedule(delay);
      const left = notBefore - Date.now();
      if (refusal && left > 0) failed(refusal, left / 1000);
    },
    /** Ask again now: the reader says so, or the network is back. */
    again() {
      notBefore = 0;
      attempt = 0;
      schedule(0);
    },
    cancel() {
      question = null;
      clearTimeout(timer);
      running.abort();
    },
    /**
     * Word alignments cost a pass of the model: a paragraph's are asked for when somebody looks at it.
     * @param {Asked} asked @param {Known} known
     */
    async align(asked, known) {
      const { source, target } = known.translation;
      const glossary = occurring(asked.glossary ?? [], known.text);
      const question = { source, target, glossary, text: [known.text], alignment: true };
      const { translations: [{ alignment, text }] } = await translate(question);
      known.alignment = alignment && text === known.translation.text ? alignment : NO_WORDS;
    },
  };
}
