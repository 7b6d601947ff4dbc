/** @file From which language into which: what the service offers, what was chosen, and the two exchanged. */

import { byId, el } from "./dom.js";
import { interfaceLanguage, languageName, t } from "./i18n.js";
import { remember, remembered } from "./settings.js";

/** @typedef {import("./api.js").Language} Language */

/** @param {() => void} onChange */
export function createPair(onChange) {
  const from = byId("from", HTMLSelectElement);
  const to = byId("to", HTMLSelectElement);
  const swap = byId("swap", HTMLButtonElement);
  /** @type {Language[]} */
  let offered = [];
  /** @type {string | null} */
  let detected = null;
  /** @type {() => void} */
  let resolve = () => {};
  /** @type {Promise<void>} */
  const ready = new Promise((done) => (resolve = done));

  /** @param {string} code */
  function name(code) {
    const known = offered.find((language) => language.code === code);
    return languageName(code, interfaceLanguage() === "zh" ? known?.native : known?.name);
  }

  /** @returns {string[]} codes, each once, in the order of the service */
  function targets() {
    const sources = from.value === "auto" ? offered : offered.filter(({ code }) => code === from.value);
    return [...new Set(sources.flatMap((language) => language.targets))].filter((code) => code !== from.value);
  }

  /** The source as far as it is known: chosen or detected. */
  const source = () => (from.value === "auto" ? detected : from.value);

  const canSwap = () => {
    const code = source();
    return code !== null && offered.some((language) => language.code === to.value && language.targets.includes(code));
  };

  function draw() {
    const [chosen, target] = [from.value, to.value];
    const auto = detected ? t("auto_detected", { language: name(detected) }) : t("auto");
    const codes = offered.filter((language) => language.targets.length).map(({ code }) => code);
    from.replaceChildren(el("option", { value: "auto" }, auto), ...codes.map((code) => el("option", { value: code }, name(code))));
    from.value = ["auto", ...codes].includes(chosen) ? chosen : "auto";
    const possible = targets();
    to.replaceChildren(...possible.map((code) => el("option", { value: code }, name(code))));
    to.value = possible.includes(target) ? target : (possible[0] ?? "");
    swap.disabled = !canSwap();
  }

  /** @param {string} source @param {string} target */
  function choose(source, target) {
    detected = null;
    from.value = source;
    draw();
    to.value = target;
    draw();
  }

  function changed() {
    swap.disabled = !canSwap();
    remember("from", from.value);
    remember("to", to.value);
    onChange();
  }

  from.addEventListener("change", () => {
    detected = null;
    draw();
    changed();
  });
  to.addEventListener("change", changed);

  return {
    /** @param {Language[]} languages */
    offer(languages) {
      offered = languages;
      draw();
      const sources = languages.filter((language) => language.targets.length);
      from.value = remembered("from") ?? (sources.length === 1 ? sources[0].code : "auto");
      draw();
      const own = targets().find((target) => target.split("-")[0] === interfaceLanguage());
      to.value = targets().find((target) => target === remembered("to")) ?? own ?? to.value;
      swap.disabled = !canSwap();
      if (to.value) resolve();
    },
    /** Kept once there is something to choose from. */
    ready,
    /** @param {string | null} code what the service found the text to be */
    detect(code) {
      if (from.value !== "auto" || code === detected) return;
      detected = code;
      draw();
    },
    choose,
    /** @returns {boolean} whether there is a model for the way back */
    swap() {
      const code = source();
      if (code === null || !canSwap()) return false;
      choose(to.value, code);
      remember("from", from.value);
      remember("to", to.value);
      return true;
    },
    draw,
    /** The source, or one that has a model into the target where none is chosen or detected. */
    likelySource() {
      const leads = (/** @type {Language} */ { code, targets }) => code !== to.value && targets.includes(to.value);
      return (offered.find((language) => language.code === source() && leads(language)) ?? offered.find(leads))?.code ?? "";
    },
    /** @param {string} code the target, as if it was chosen in the list */
    pick(code) {
      to.value = code;
      changed();
    },
    /** Whether nobody has chosen the target. */
    isGuessed: () => from.value === "auto" && remembered("to") === undefined,
    name,
    from: () => from.value,
    to: () => to.value,
    isReady: () => to.value !== "",
    /** @param {string} code @returns {string | undefined} another target than this one */
    otherThan: (code) => targets().find((target) => target !== code),
    swapButton: swap,
  };
}
