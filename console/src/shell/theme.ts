import { useSyncExternalStore } from 'react'

export type Theme = 'light' | 'dark'

const changed = 'purser-theme'

/** The theme: the user's choice, else the system preference (public/theme.js sets it initially). */
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
