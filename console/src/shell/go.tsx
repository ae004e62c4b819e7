import { useEffect, useRef, type ReactNode } from 'react'
import { Link, useNavigate } from 'react-router'

import { useSeen } from '../api/seen.tsx'

/** The path of a screen in the current environment: `mandates` → `/sandbox/mandates`. */
export function usePath(): (path: string) => string {
  const { environment } = useSeen()
  return (path) => (path === '' ? `/${environment}` : `/${environment}/${path}`)
}

/** Goes to a screen, unless the caller is closed by then: what ends later must not lead away from another form. */
export function useGoWhileOpen(): (path: string) => void {
  const path = usePath()
  const navigate = useNavigate()
  const isOpen = useRef(false)
  useEffect(() => {
    isOpen.current = true
    return () => void (isOpen.current = false)
  }, [])
  return (to) => {
    if (isOpen.current) void navigate(path(to))
  }
}

/** A link to another screen of the same environment. */
export function Go({
  to,
  isClamped = false,
  children,
}: {
  readonly to: string
  /** Whether to clamp it to two lines, for third-party text. */
  readonly isClamped?: boolean
  readonly children: ReactNode
}) {
  const path = usePath()
  return (
    <Link to={path(to)} className={isClamped ? 'two-lines' : undefined}>
      {children}
    </Link>
  )
}
