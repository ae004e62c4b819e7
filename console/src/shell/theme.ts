import { useSyncExternalStore } from 'react'

export type Theme = 'light' | 'dark'

const changed = 'purser-theme'

/** The theme on the page: what the reader chose, else what the system prefers (public/theme.js sets it first). */
export function useTheme(): [Theme, (theme: Theme) => void] {
  return [useSyncExternalStore(subscribe, currentTheme), chooseTheme]
}

function subscribe(onChange: () => void): () => void {
  addEventListener(changed, onChange)
  return () => removeEventListener(changed, onChange)
}

function currentTheme(): Theme {
  return document.documentElement.dataset['theme'] === 'dark' ? 'dark' : 'light'
}

function chooseTheme(theme: Theme): void {
  localStorage.setItem('purser.theme', theme)
  document.documentElement.dataset['theme'] = theme
  dispatchEvent(new Event(changed))
}
