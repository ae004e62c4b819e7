import { useEffect, useRef } from 'react'

/** Opens the palette on Ctrl-K, ⌘K and `/`, except `/` within a field. */
export function useShortcuts(openPalette: () => void): void {
  const open = useRef(openPalette)
  useEffect(() => {
    open.current = openPalette
  })
  useEffect(() => {
    function listen(event: KeyboardEvent) {
      const isPaletteKey =
        event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey
      const isSlash = event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey
      if (!isPaletteKey && !(isSlash && !isTyping(event.target))) return
      event.preventDefault()
      open.current()
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [])
}

/** Whether a key is typed into a field. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null
  )
}
