import { useEffect, useRef, useState } from 'react'

import { useSeen } from './seen.tsx'

const prefix = 'purser.typed.'

/** The save functions of all open forms. */
const keepers = new Set<() => void>()

/** Saves the input of open forms in this tab, because the session is over and the screen will unmount. */
export function keepTypedForms(): void {
  for (const keep of keepers) keep()
  keepers.clear()
}

/** Clears saved input on sign-out. */
export function forgetTypedForms(): void {
  keepers.clear()
  for (const name of Object.keys(sessionStorage)) if (name.startsWith(prefix)) sessionStorage.removeItem(name)
}

/** Whether the input of a form was restored, and how to discard it. */
export interface Restored {
  readonly isRestored: boolean
  /** Discards the input, now and when the form closes: it was sent, or is not wanted. */
  readonly forget: () => void
}

/**
 * Like `useState`, for form input. If the session ends, the value is restored after the same account signs in
 * again, also with an identity provider; with `isKept`, also when its screen was left and is opened again, and the
 * browser asks before the tab closes. It must be serializable as JSON.
 */
export function useTyped<Value>(
  name: string,
  start: Value,
  { isKept = false }: { readonly isKept?: boolean } = {},
): [Value, (value: Value) => void, Restored] {
  const { session, environment } = useSeen()
  const key = `${prefix}${session.account.id}.${environment}.${name}`
  const [isRestored, setRestored] = useState(() => sessionStorage.getItem(key) !== null)
  const [value, setValue] = useState<Value>(() => {
    const kept = sessionStorage.getItem(key)
    return kept === null ? start : (JSON.parse(kept) as Value)
  })
  const latest = useRef({ value, start })
  useEffect(() => {
    latest.current = { value, start: latest.current.start }
  }, [value])
  useEffect(() => {
    sessionStorage.removeItem(key)
    const isTyped = () => JSON.stringify(latest.current.value) !== JSON.stringify(latest.current.start)
    const keep = () => {
      if (isTyped()) sessionStorage.setItem(key, JSON.stringify(latest.current.value))
    }
    const warn = (event: Event) => {
      if (isTyped()) event.preventDefault()
    }
    keepers.add(keep)
    if (isKept) addEventListener('beforeunload', warn)
    return () => {
      removeEventListener('beforeunload', warn)
      if (keepers.delete(keep) && isKept) keep()
    }
  }, [key, isKept])
  function forget() {
    sessionStorage.removeItem(key)
    latest.current = { value: start, start }
    setValue(start)
    setRestored(false)
  }
  return [value, setValue, { isRestored, forget }]
}
