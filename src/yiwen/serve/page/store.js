/**
 * @file What the browser remembers, under `yiwen.NAME`. What storage that is full or forbidden does not take is kept for
 * as long as the page is open.
 */

/** What could not be saved, by name. @type {Map<string, unknown>} */
const held = new Map();

/**
 * @param {string} name
 * @returns {unknown} what was saved, undefined without
 */
export function load(name) {
  if (held.has(name)) return held.get(name);
  try {
    return JSON.parse(localStorage.getItem(`yiwen.${name}`) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}

/**
 * @param {string} name
 * @param {unknown} value undefined forgets
 * @returns {boolean} whether it outlasts the page
 */
export function save(name, value) {
  try {
    if (value === undefined) localStorage.removeItem(`yiwen.${name}`);
    else localStorage.setItem(`yiwen.${name}`, JSON.stringify(value));
    held.delete(name);
    return true;
  } catch {
    held.set(name, value);
    return false;
  }
}

/**
 * A saved object's fields; an empty one for anything else.
 * @param {unknown} value
 * @returns {Record<string, unknown>}
 */
export function fields(value) {
  return typeof value === "object" && value !== null ? /** @type {Record<string, unknown>} */ (value) : {};
}

/** What could not be saved for the tab, by name. @type {Map<string, string>} */
const heldInTab = new Map();

/**
 * What this tab remembers until it is closed: the key, and the text in the box.
 * @param {"key" | "draft"} name
 * @returns {string} empty without
 */
function readInTab(name) {
  try {
    return heldInTab.get(name) ?? sessionStorage.getItem(`yiwen.${name}`) ?? "";
  } catch {
    return "";
  }
}

/** @param {"key" | "draft"} name @param {string} value empty forgets */
function keepInTab(name, value) {
  // Storage may have no room for it, nor be there.
  heldInTab.set(name, value);
  try {
    sessionStorage.removeItem(`yiwen.${name}`);  // what stood there is old, also where this has no room
    if (value) sessionStorage.setItem(`yiwen.${name}`, value);
  } catch {
    // Kept in memory then, for as long as the page is open.
  }
}

export const readKey = () => readInTab("key");
export const keepKey = (/** @type {string} */ key) => keepInTab("key", key);
export const readDraft = () => readInTab("draft");
export const keepDraft = (/** @type {string} */ text) => keepInTab("draft", text);
