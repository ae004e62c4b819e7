import type { ReactNode } from 'react'
import { Link } from 'react-router'

import { useSeen } from '../api/seen.tsx'

/** Makes the address of a screen within the environment that is looked at: `mandates` → `/sandbox/mandates`. */
export function usePath(): (path: string) => string {
  const { environment } = useSeen()
  return (path) => (path === '' ? `/${environment}` : `/${environment}/${path}`)
}

/** A link to another screen of the same environment. */
export function Go({ to, children }: { readonly to: string; readonly children: ReactNode }) {
  const path = usePath()
  return <Link to={path(to)}>{children}</Link>
}
