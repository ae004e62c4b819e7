// Runs before the first paint, so that no screen flashes in the other theme. A file of its own, since the
// Content-Security-Policy admits no script within the page.
const chosen = localStorage.getItem('purser.theme')
const prefersDark = matchMedia('(prefers-color-scheme: dark)').matches
document.documentElement.dataset.theme =
  chosen === 'light' || chosen === 'dark' ? chosen : prefersDark ? 'dark' : 'light'
