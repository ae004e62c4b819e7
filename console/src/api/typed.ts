import { useEffect, useRef, useState } from 'react'

import { useSeen } from './seen.tsx'

const prefix = 'purser.typed.'

/** The save functions of all open forms. */
const keepers = new Set<() => void>()

/** Saves the input of open forms in this tab, because the session is over and the screen will unmount. */
export function keepTypedForms(): void {
  for (const keep of keepers) keep()
}

/** Clears saved input on sign-out. */
export function forgetTypedForms(): void {
  for (const name of Object.keys(sessionStorage)) if (name.startsWith(prefix)) sessionStorage.removeItem(name)
}

/**
 * Like `useState`, for form input. If the session ends, the value is restored after the same account signs in
 * again, also with an identity provider. It must be serializable as JSON.
 */
export function useTyped<Value>(name: string, start: Value): [Value, (value: Value) => void] {
  const { session, environment } = useSeen()
  const key = `${prefix}${session.account.id}.${environment}.${name}`
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
    const keep = () => {
      const typed = JSON.stringify(latest.current.value)
      if (typed !== JSON.stringify(latest.current.start)) sessionStorage.setItem(key, typed)
    }
    keepers.add(keep)
    return () => void keepers.delete(keep)
  }, [key])
  return [value, setValue]
}
