// Before the first paint, so that no page flashes in the other theme or language: what this browser chose.
(function () {
  try {
    var root = document.documentElement;
    var theme = localStorage.getItem('tollgate.theme');
    if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
    var language = localStorage.getItem('tollgate.language');
    if (language) root.lang = language;
  } catch {
    // A browser that keeps nothing has the system's theme.
  }
})();
