import type { ReactNode } from 'react'

import { useSeen } from '../api/seen.tsx'

/** Whether the session may do what the service refuses to approvers. */
export function useIsOwner(): boolean {
  return useSeen().session.role !== 'approver'
}

/** Actions and forms that the service refuses to approvers, who do not see them. */
export function OwnersOnly({ children }: { readonly children: ReactNode }) {
  return useIsOwner() && children
}
