import type { ReactNode } from 'react'
import { Link } from 'react-router'

import { useSeen } from '../api/seen.tsx'

/** Makes the address of a screen within the environment that is looked at: `mandates` → `/sandbox/mandates`. */
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
  /** Whether two lines of it are enough: where it is what a stranger wrote. */
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
