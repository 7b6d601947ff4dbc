/** @file The few things the page asks of the document. Text enters through text nodes only, never as markup. */

/**
 * The element of this id, of this class; a page without it is a mistake of ours.
 * @template {Element} E
 * @param {string} id
 * @param {new () => E} type
 * @returns {E}
 */
export function byId(id, type) {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`no ${type.name} with the id ${id}`);
  return found;
}

/**
 * A new element. A function is a listener, a boolean sets or leaves out an attribute, a string is a text node.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string | number | boolean | ((event: any) => void)>} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (typeof value === "boolean") node.toggleAttribute(name, value);
    else node.setAttribute(name, String(value));
  }
  node.append(...children);
  return node;
}

const SVG = "http://www.w3.org/2000/svg";

/**
 * One of the symbols at the top of index.html.
 * @param {string} name
 * @returns {SVGElement}
 */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

/**
 * A button with a cross on it.
 * @param {string} label
 * @param {() => void} click
 */
export function cross(label, click) {
  return el("button", { class: "tool", type: "button", "aria-label": label, title: label, click }, icon("close"));
}

/**
 * A dialog's heading and its close button.
 * @param {string} id of the heading
 * @param {string} title
 * @param {string} close label of the button
 * @param {() => void} onClose
 */
export function heading(id, title, close, onClose) {
  return el("header", { class: "bar" }, el("h2", { id, tabindex: -1 }, title), cross(close, onClose));
}

/**
 * Draw the same letters in other elements, and mark again what the reader had marked of them.
 * @param {HTMLElement} box
 * @param {() => void} draw
 */
export function keepingMark(box, draw) {
  const before = box.textContent;
  const marked = getSelection();
  /** @type {[Node | null, number][]} */
  const ends = marked && !marked.isCollapsed ? [[marked.anchorNode, marked.anchorOffset], [marked.focusNode, marked.focusOffset]] : [];
  const letters = ends.map(([node, offset]) => {
    if (!node || !box.contains(node)) return null;
    const range = document.createRange();
    range.setStart(box, 0);
    range.setEnd(node, offset);
    return range.toString().length;
  });
  draw();
  if (!marked || letters.every((n) => n === null) || box.textContent !== before) return;
  const [[anchor, from], [focus, to]] = ends.map((end, i) => placeOf(box, letters[i]) ?? end);
  if (anchor && focus) marked.setBaseAndExtent(anchor, from, focus, to);
}

/** @param {HTMLElement} box @param {number | null} letters @returns {[Node, number] | null} the place after so many letters */
function placeOf(box, letters) {
  const texts = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  let left = letters ?? Infinity;
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const { length } = node.textContent ?? "";
    if (left <= length) return [node, left];
    left -= length;
  }
  return null;
}

/**
 * Put text on the clipboard, also where the page is no secure context (plain http from another machine).
 * @param {string} text
 * @throws {Error} where the browser does not let it
 */
export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  const holder = el("textarea", { class: "hidden" });
  holder.value = text;
  document.body.append(holder);
  holder.select();
  const isCopied = document.execCommand("copy");
  holder.remove();
  focused?.focus();
  if (!isCopied) throw new Error("the browser did not copy");
}
