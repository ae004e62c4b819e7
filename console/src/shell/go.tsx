import type { ReactNode } from 'react'
import { Link } from 'react-router'

import { useSeen } from '../api/seen.tsx'

/** The path of a screen in the current environment: `mandates` → `/sandbox/mandates`. */
export function usePath(): (path: string) => string {
  const { environment } = useSeen()
  return (path) => (path === '' ? `/${environment}` : `/${environment}/${path}`)
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
