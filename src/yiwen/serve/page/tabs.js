/** @file Texts and documents: two views of the page, and the tabs that choose between them. */

import { byId } from "./dom.js";

/** @typedef {"text" | "documents"} View */

const VIEWS = /** @type {View[]} */ (["text", "documents"]);

/** @param {View} view */
const tabOf = (view) => byId(`tab-${view}`, HTMLButtonElement);

/** @param {(view: View) => void} onShow after a view has come up */
export function createTabs(onShow) {
  /** @param {View} chosen */
  function show(chosen) {
    for (const view of VIEWS) {
      const tab = tabOf(view);
      tab.setAttribute("aria-selected", String(view === chosen));
      tab.tabIndex = view === chosen ? 0 : -1;
      byId(`view-${view}`, HTMLElement).hidden = view !== chosen;
    }
    onShow(chosen);
  }

  VIEWS.forEach((view, index) => {
    const other = VIEWS[1 - index];
    tabOf(view).addEventListener("click", () => show(view));
    tabOf(view).addEventListener("keydown", (event) => {
      if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
      show(other);
      tabOf(other).focus();
    });
  });
  return { show };
}
