/** @file What the reader has chosen once and for all: theme, interface language, languages, whether history is kept. */

import { byId } from "./dom.js";
import { interfaceLanguage, preferred, t, useInterface } from "./i18n.js";
import { fields, load, save } from "./store.js";

const THEMES = /** @type {const} */ (["auto", "light", "dark"]);
const ICONS = { auto: "theme", light: "sun", dark: "moon" };

/** @param {string} name @param {unknown} value */
export function remember(name, value) {
  save("settings", { ...fields(load("settings")), [name]: value });
}

/** @param {string} name @returns {string | undefined} */
export function remembered(name) {
  const value = fields(load("settings"))[name];
  return typeof value === "string" ? value : undefined;
}

/** @returns {"auto" | "light" | "dark"} */
function theme() {
  return THEMES.find((name) => name === remembered("theme")) ?? "auto";
}

/** @param {"auto" | "light" | "dark"} chosen */
function showTheme(chosen) {
  const root = document.documentElement;
  if (chosen === "auto") delete root.dataset.theme;
  else root.dataset.theme = chosen;
  byId("theme-icon", SVGUseElement).setAttribute("href", `#i-${ICONS[chosen]}`);
  byId("theme-name", HTMLElement).textContent = t(`theme_${chosen}`);
  byId("theme", HTMLButtonElement).title = t(`theme_${chosen}`);
}

/** @param {() => void} onLanguage */
export function setUpSettings(onLanguage) {
  const language = remembered("interface");
  const name = byId("interface-name", HTMLElement);
  /** @param {import("./i18n.js").Interface} chosen */
  const speak = (chosen) => {
    useInterface(chosen);
    name.textContent = chosen === "zh" ? "English" : "中文";
    name.lang = chosen === "zh" ? "en" : "zh";
    showTheme(theme());
  };
  speak(language === "zh" || language === "en" ? language : preferred());

  byId("theme", HTMLButtonElement).addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
    remember("theme", next);
    showTheme(next);
  });
  byId("interface-language", HTMLButtonElement).addEventListener("click", () => {
    const chosen = interfaceLanguage() === "zh" ? "en" : "zh";
    remember("interface", chosen);
    speak(chosen);
    onLanguage();
  });
}
