// Before the first paint, so that no page flashes in the other theme or language: the user's choice in this browser, or the system's. The public
// pages use it for the theme; their language is that of their address.
(function () {
  var root = document.documentElement;
  var system = matchMedia('(prefers-color-scheme: dark)');
  function chosen(name) {
    try {
      return localStorage.getItem('tollgate.' + name);
    } catch {
      // A browser that stores nothing uses the system's.
      return null;
    }
  }
  function show() {
    var theme = chosen('theme');
    root.dataset.theme = theme === 'light' || theme === 'dark' ? theme : system.matches ? 'dark' : 'light';
  }
  show();
  system.addEventListener('change', show);
  // Sent by the console when the user chooses another.
  addEventListener('tollgate-theme', show);
  var language = chosen('language');
  if (language && root.dataset.copy === undefined) root.lang = language;
})();
