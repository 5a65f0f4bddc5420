// Before anything is drawn: scripts are on, and the theme the reader chose last time.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const theme = localStorage.getItem("maskdiff-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch { /* storage may be closed to files: then the system's theme it is */ }
})();
