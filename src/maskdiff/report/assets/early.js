// Runs before the first paint: marks that scripts are enabled, and restores the theme chosen last time.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const theme = localStorage.getItem("maskdiff-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch { /* browsers may deny storage to local files: the system's theme is used */ }
})();
