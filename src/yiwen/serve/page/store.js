/** @file What the browser remembers, under `yiwen.NAME`. Storage that is full or forbidden costs the memory, not the page. */

/**
 * @param {string} name
 * @returns {unknown} what was saved, undefined without
 */
export function load(name) {
  try {
    return JSON.parse(localStorage.getItem(`yiwen.${name}`) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}

/**
 * @param {string} name
 * @param {unknown} value undefined forgets
 * @returns {boolean} whether it is kept now
 */
export function save(name, value) {
  try {
    if (value === undefined) localStorage.removeItem(`yiwen.${name}`);
    else localStorage.setItem(`yiwen.${name}`, JSON.stringify(value));
    return true;
  } catch {
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
  try {
    return sessionStorage.getItem("yiwen.key") ?? "";
  } catch {
    return heldKey;
  }
}

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
