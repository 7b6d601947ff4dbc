/**
 * @file The page, put together: what is typed goes to translating.js, what comes back to reading.js, one sentence looked
 * at closely to sentence.js. Everything is loaded at once, so that only translating needs the network.
 */

import { ApiError, languages } from "./api.js";
import { byId } from "./dom.js";
import { setUpDocuments } from "./documents.js";
import { createFoot } from "./foot.js";
import { occurring, setUpGlossary, termsFor } from "./glossary.js";
import { keep, setUpHistory } from "./history.js";
import { t } from "./i18n.js";
import { createPair } from "./pair.js";
import { UNKNOWN, wordsOf } from "./paragraphs.js";
import { createReading } from "./reading.js";
import { remarks } from "./remarks.js";
import { createSentencePanel } from "./sentence.js";
import { setUpSettings } from "./settings.js";
import { keepDraft, keepKey, readDraft } from "./store.js";
import { createTabs } from "./tabs.js";
import { createTranslating, waitAfter } from "./translating.js";
import { createStatus } from "./trouble.js";

/** @typedef {import("./translating.js").Asked} Asked */
/** @typedef {import("./paragraphs.js").Known} Known */
/** @typedef {import("./paragraphs.js").Whole} Whole */

/** A pause in typing after which the text is sent, ms. */
const TYPING_PAUSE = 300;
/** The same while the last letters are still an input method's; a phone's keyboard holds every word until the next, ms. */
const HELD_PAUSE = 1500;
/** A pause after which a result is read out and kept in the history, ms. */
const SETTLED = 1500;
/** Screen readers hear this much of a result; the rest is there to be read. */
const ANNOUNCED = 500;

const source = byId("source", HTMLTextAreaElement);
const pane = byId("target-pane", HTMLElement);
const announce = byId("announce", HTMLElement);

setUpSettings(speakAgain);
const pair = createPair(() => ask(0));
const status = createStatus((key) => {
  keepKey(key);
  source.focus();
  status.say({ text: t("working") });
  void start();
});
const panel = createSentencePanel({
  replace: (key, text) => reading.replace(key, text),
  closed: (index) => reading.focus(index),
});
const reading = createReading({
  mirror: byId("mirror", HTMLElement),
  textarea: source,
  output: byId("output", HTMLElement),
  announce,
  wantWords,
  open: openSentence,
  describe: (flags) => remarks(flags).join(" "),
});
const foot = createFoot({
  text: reading.text,
  open: reading.open,
  current: reading.current,
  copied: (word) => (announce.textContent = word),
  copyFailed: () => status.say({ text: t("copy_failed"), isTrouble: true }),
});
const translating = createTranslating({ pending, part, done, failed });
const tabs = createTabs(viewed);
const documents = setUpDocuments(pair, () => tabs.show("documents"), (error) => status.trouble(error, null, () => {}));

/** @type {Asked | null} */
let answered = null;
/** Paragraphs whose words are being asked for. @type {Map<Known, Promise<void>>} */
const underWay = new Map();
/** Timer until the result that is shown is read out and kept; `settle` does so at once, and once. */
let settling = 0;
let settle = () => {};

/** Ask for what stands in the box, after a pause. @param {number} delay in ms */
function ask(delay) {
  reading.typed();
  const text = source.value.toWellFormed?.() ?? source.value;
  byId("count", HTMLElement).textContent = text ? t("n_characters", { n: Array.from(text).length }) : "";
  byId("clear", HTMLButtonElement).hidden = !text;
  if (!text.trim()) return forget();
  if (!pair.isReady()) return;
  const [from, to] = [pair.from(), pair.to()];
  translating.ask({ text, source: from, target: to, glossary: termsFor(from, to) }, delay);
}

function forget() {
  translating.cancel();
  reading.showPart("", "");
  answered = null;
  panel.close();
  foot.show(null);
  pane.classList.remove("pending");
  pane.removeAttribute("aria-busy");
  pair.detect(null);
  status.say({ text: navigator.onLine ? "" : t("offline"), isTrouble: !navigator.onLine });
}

function pending() {
  pane.classList.add("pending");
  pane.setAttribute("aria-busy", "true");
}

/** @param {Whole} whole so far */
function part(whole) {
  if (turned(whole)) return;
  pane.classList.remove("pending");
  reading.showPart(whole.text, whole.to);
}

/**
 * A text in the very language that it should be translated into turns the direction, unless somebody chose it.
 * @param {Whole} whole
 */
function turned({ from, to }) {
  const other = from === to && pair.isGuessed() ? pair.otherThan(to) : undefined;
  if (other) into(other);
  return other !== undefined;
}

/** @param {Asked} asked @param {Whole} whole @param {{model: string, ms: number}} about */
function done(asked, whole, { model, ms }) {
  if (turned(whole)) return;
  const { source, text, from, to } = whole;
  answered = asked;
  pane.classList.remove("pending");
  pane.removeAttribute("aria-busy");
  pair.detect(from === UNKNOWN ? null : from);
  reading.show(whole);
  foot.show(whole);
  const looked = panel.chosen();
  if (looked && reading.sentence(looked.index).key !== looked.key) panel.close();

  const other = from === to ? pair.otherThan(to) : undefined;
  if (other) {
    const action = { label: t("into_instead", { language: pair.name(other) }), run: () => pair.pick(other) };
    status.say({ text: t("already_target", { language: pair.name(to) }), action });
  } else {
    status.say({ text: ms ? t("took", { ms: Math.round(ms), model }) : model });
  }
  clearTimeout(settling);
  settle = () => {
    settle = () => {};
    announce.textContent = text.length > ANNOUNCED ? `${text.slice(0, ANNOUNCED)}…` : text;
    keep({ from, to, source, target: text, time: Date.now() });
  };
  settling = setTimeout(() => settle(), SETTLED);
}

/** @param {string} code */
function into(code) {
  pair.choose(pair.from(), code);
  ask(0);
}

/** @param {ApiError} error @param {number | null} wait */
function failed(error, wait) {
  pane.classList.toggle("pending", reading.of() !== source.value);
  pane.removeAttribute("aria-busy");
  foot.brokenOff();
  status.trouble(error, wait, () => translating.again());
}

/** Ask for the words of the paragraph that a sentence stands in, once. @param {number} index of the sentence */
async function wantWords(index) {
  const whole = reading.shown();
  if (!whole || !answered) return;
  const { known } = whole.parts[whole.sentences[index].part];
  if (known.alignment) return;
  if (!underWay.has(known)) underWay.set(known, fetchWords(answered, known));
  await underWay.get(known);
}

/** @param {Asked} asked @param {Known} known */
async function fetchWords(asked, known) {
  try {
    await translating.align(asked, known);
    await reading.released();
    const whole = reading.shown();
    if (whole) reading.align(wordsOf(whole));
    underWay.delete(known);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // Sentences light up all the same. Ask again later, not at every move of the pointer.
    setTimeout(() => underWay.delete(known), 5000);
  }
}

/** @param {number} index @param {string} before */
function openSentence(index, before) {
  const whole = reading.shown();
  if (!whole || !answered) return;
  const { flags, from } = whole.sentences[index];
  // Of a text that is its own translation there are no others.
  if (from === whole.to || from === UNKNOWN) return;
  const sentence = reading.sentence(index);
  const glossary = occurring(answered.glossary ?? [], sentence.source);
  panel.open({ index, ...sentence, before, from, to: whole.to, flags, glossary });
}

/** The interface speaks another language: what no data-t attribute names is written anew. */
function speakAgain() {
  panel.close();
  pair.draw();
  documents.speakAgain();
  status.say({ text: "" });
  ask(0);
}

/** @param {import("./tabs.js").View} view that has come up */
function viewed(view) {
  // A document's language is another one than the text's.
  const from = view === "text" ? reading.shown()?.from : undefined;
  pair.detect(from === undefined || from === UNKNOWN ? null : from);
  panel.close();
  status.say({ text: "" });
}

function setUpText() {
  let held = 0;
  source.addEventListener("input", (event) => {
    clearTimeout(held);
    // Letters on their way to becoming a character of an input method are nobody's text yet, unless they stay.
    if (event instanceof InputEvent && event.isComposing) {
      reading.typed();
      held = setTimeout(() => ask(0), HELD_PAUSE);
    } else ask(event instanceof InputEvent && event.inputType === "insertFromPaste" ? 0 : TYPING_PAUSE);
  });
  source.addEventListener("compositionend", () => {
    clearTimeout(held);
    ask(TYPING_PAUSE);
  });
  source.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask(0);
  });
  byId("clear", HTMLButtonElement).addEventListener("click", () => {
    settle();
    source.value = "";
    ask(0);
    source.focus();
  });
  pair.swapButton.addEventListener("click", () => {
    const [written, translated] = [source.value, reading.text()];
    if (!pair.swap()) return;
    settle();
    // What was typed after the translation came stays, and is translated the other way.
    if (translated && reading.of() === written) {
      source.value = translated;
      reading.showPart(written, pair.to(), translated);
    }
    ask(0);
  });
}

let starts = 0;
let nextStart = 0;

/** Ask the service for its languages until it answers; then for what stands in the box already. */
async function start() {
  clearTimeout(nextStart);
  try {
    const offered = await languages();
    starts = 0;
    pair.offer(offered);
    if (!pair.isReady()) return status.say({ text: t("no_languages"), isTrouble: true });
    status.say({ text: "" });
    ask(0);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const wait = waitAfter(error, starts);
    starts += 1;
    if (wait !== null) nextStart = setTimeout(start, wait * 1000);
    status.trouble(error, wait, () => void start());
  }
}

setUpText();
setUpHistory(
  (entry) => {
    source.value = entry.source;
    pair.choose(entry.from, entry.to);
    tabs.show("text");
    reading.showPart(entry.target, entry.to, entry.source);
    ask(0);
  },
  (code) => pair.name(code),
);
setUpGlossary(
  () => {
    const [from, to] = [pair.likelySource(), pair.to()];
    return to ? { from, to, title: `${pair.name(from)} → ${pair.name(to)}` } : null;
  },
  () => ask(0),
);
window.addEventListener("offline", () => status.say({ text: t("offline"), isTrouble: true }));
window.addEventListener("online", () => {
  if (pair.isReady()) {
    status.say({ text: "" });
    translating.again();
  } else void start();
});
window.addEventListener("pagehide", () => {
  settle();
  keepDraft(source.value);
});
// A browser forgets what was typed where the page is loaded anew.
source.value ||= readDraft();
ask(0);
delete document.documentElement.dataset.loading;
void start();
