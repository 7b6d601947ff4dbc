// Before anything is painted: the chosen theme, and no flash of English for someone who reads Chinese.
// A classic script, because a module would run too late. settings.js owns these values.
(() => {
  const root = document.documentElement;
  try {
    const { theme } = JSON.parse(localStorage.getItem("yiwen.settings") ?? "{}");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // Storage may be forbidden or hold what another version wrote: the system's theme it is.
  }
  root.dataset.loading = "";
  // Should the module never come, English is better than an empty page.
  setTimeout(() => delete root.dataset.loading, 2000);
})();
