// Before the first paint, so that no page flashes in the other theme or language: what this browser chose, or what the system has.
(function () {
  var root = document.documentElement;
  var system = matchMedia('(prefers-color-scheme: dark)');
  function chosen(name) {
    try {
      return localStorage.getItem('tollgate.' + name);
    } catch {
      // A browser that keeps nothing has the system's.
      return null;
    }
  }
  function show() {
    var theme = chosen('theme');
    root.dataset.theme = theme === 'light' || theme === 'dark' ? theme : system.matches ? 'dark' : 'light';
  }
  show();
  system.addEventListener('change', show);
  // The console says so when somebody chooses another.
  addEventListener('tollgate-theme', show);
  var language = chosen('language');
  if (language) root.lang = language;
})();
