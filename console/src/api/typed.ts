import { useEffect, useRef, useState } from 'react'

import { useSeen } from './seen.tsx'

const prefix = 'purser.typed.'

/** Each open form's way to put what was typed aside. */
const keepers = new Set<() => void>()

/** Puts what was typed into open forms aside, within this tab: the session is over, and the screen goes away. */
export function keepTypedForms(): void {
  for (const keep of keepers) keep()
}

/** Forgets what was put aside: somebody signs out. */
export function forgetTypedForms(): void {
  for (const name of Object.keys(sessionStorage)) if (name.startsWith(prefix)) sessionStorage.removeItem(name)
}

/**
 * As `useState`, for what somebody types into a form. When the session ends meanwhile, the value is there again after
 * the same account has signed in, also by way of an identity provider. It must survive JSON.
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
