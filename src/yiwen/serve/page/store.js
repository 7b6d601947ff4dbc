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

/** @returns {string} the key of this tab; it is forgotten with the tab */
export function readKey() {
  if (heldKey) return heldKey;
  try {
    return sessionStorage.getItem("yiwen.key") ?? "";
  } catch {
    return "";
  }
}

/** The key that was given last: storage may have no room for it. */
let heldKey = "";

/** @param {string} key empty forgets */
export function keepKey(key) {
  heldKey = key;
  try {
    if (key) sessionStorage.setItem("yiwen.key", key);
    else sessionStorage.removeItem("yiwen.key");
  } catch {
    // Kept in memory then, for as long as the page is open.
  }
}
