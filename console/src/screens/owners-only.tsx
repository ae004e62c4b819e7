import type { ReactNode } from 'react'

import { useSeen } from '../api/seen.tsx'

/** Actions that the service refuses to approvers, who do not see them. */
export function OwnersOnly({ children }: { readonly children: ReactNode }) {
  const { session } = useSeen()
  return session.role !== 'approver' && children
}
