/** @file Where the model looked: the weights of every head, as small pictures and one large table. */

import { attention } from "./api.js";
import { el } from "./dom.js";
import { t } from "./i18n.js";
import { attempt } from "./trouble.js";

/** @typedef {import("./api.js").Attention} Attention */
/** @typedef {number[][]} Matrix target tokens by source tokens */

/** Shares above this are read out and count as looking there. */
const WORTH_SAYING = 0.1;

/**
 * @param {Matrix[]} heads
 * @returns {Matrix}
 */
function meanOf(heads) {
  return heads[0].map((row, i) => row.map((_, j) => heads.reduce((sum, head) => sum + head[i][j], 0) / heads.length));
}

/** A piece as a reader knows it: SentencePiece marks a blank before a word. @param {string} token */
function plain(token) {
  if (token === "</s>") return t("end_of_sentence");
  return token.replaceAll("\u2581", " ").trim() || "\u2423";
}

/** @param {Matrix} weights @param {string} label */
function thumbnail(weights, label) {
  const [height, width] = [weights.length, weights[0].length];
  const canvas = el("canvas", { width, height, role: "img", "aria-label": label });
  const context = canvas.getContext("2d");
  if (context) {
    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--heat");
    weights.forEach((row, y) => row.forEach((weight, x) => {
      context.globalAlpha = Math.min(Math.max(weight, 0), 1);
      context.fillRect(x, y, 1, 1);
    }));
  }
  return canvas;
}

/** @param {Matrix} weights @param {Attention} of @param {string} caption */
function table(weights, of, caption) {
  const head = el("tr", {}, el("td"), ...of.source_tokens.map((token) => el("th", { scope: "col" }, el("span", {}, plain(token)))));
  const rows = weights.map((row, i) => {
    const cells = row.map((weight, j) => {
      const percent = t("percent", { n: Math.round(weight * 100) });
      const cell = el("td", { title: `${plain(of.target_tokens[i])} – ${plain(of.source_tokens[j])}: ${percent}` });
      cell.style.setProperty("--weight", weight.toFixed(3));
      if (weight >= WORTH_SAYING) cell.append(el("span", { class: "hidden" }, percent));
      return cell;
    });
    return el("tr", {}, el("th", { scope: "row" }, plain(of.target_tokens[i])), ...cells);
  });
  return el("table", { class: "heat" }, el("caption", {}, caption), el("thead", {}, head), el("tbody", {}, ...rows));
}

/** @param {Attention} of */
function draw(of) {
  const large = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": t("attention") });
  const small = el("div", { class: "heads" });
  const choose = (/** @type {HTMLButtonElement} */ button, /** @type {Matrix} */ weights, /** @type {string} */ name) => {
    for (const other of small.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
    large.replaceChildren(table(weights, of, name));
  };
  of.layers.forEach(({ heads }, layer) => {
    const all = /** @type {[string, Matrix][]} */ ([
      [t("attention_mean", { layer: layer + 1 }), meanOf(heads)],
      ...heads.map((weights, head) => [t("attention_head", { layer: layer + 1, head: head + 1 }), weights]),
    ]);
    const row = all.map(([name, weights]) => {
      const button = el("button", { class: "head", type: "button", title: name }, thumbnail(weights, name));
      button.addEventListener("click", () => choose(button, weights, name));
      return button;
    });
    small.append(el("div", { class: "layer", role: "group", "aria-label": t("attention_layer", { layer: layer + 1 }) },
      el("span", { class: "quiet", "aria-hidden": "true" }, String(layer + 1)), ...row));
  });
  // The last layer's mean says most about the words; the heads are there to be clicked through.
  /** @type {HTMLButtonElement | null} */ (small.lastElementChild?.querySelector("button") ?? null)?.click();
  return [el("p", { class: "quiet" }, t("attention_help")), el("div", { class: "attention" }, small, large)];
}

/**
 * A fold that asks the service when it is opened.
 * @param {() => {source_text: string, target_text: string, source: string, target: string}} question
 */
export function setUpAttention(question) {
  const place = el("p", { class: "quiet", role: "status" });
  const picture = el("div", {});
  const fold = el("details", { class: "fold" }, el("summary", {}, t("attention")), place, picture);
  fold.addEventListener("toggle", () => {
    if (!fold.open) return;
    void attempt(place, async () => {
      const found = await attention(question());
      place.textContent = "";
      picture.replaceChildren(...draw(found));
    });
  });
  return fold;
}
