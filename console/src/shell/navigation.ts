import type { Role } from '@purser/client'

import type { IconName } from '../ui/icon.tsx'

interface Place {
  readonly path: string
  readonly name: string
  readonly icon: IconName
  readonly role?: Role
}

/** The screens in the sidebar and the palette, in order. */
const places: readonly Place[] = [
  { path: '', name: 'Overview', icon: 'overview' },
  { path: 'approvals', name: 'Approvals', icon: 'approval' },
  { path: 'mandates', name: 'Mandates', icon: 'mandate' },
  { path: 'budgets', name: 'Budgets', icon: 'budget' },
  { path: 'transactions', name: 'Transactions', icon: 'transaction' },
  { path: 'agents', name: 'Agents', icon: 'agent' },
  { path: 'sellers', name: 'Sellers', icon: 'seller' },
  { path: 'keys', name: 'Keys', icon: 'key' },
  { path: 'sessions', name: 'Sessions', icon: 'session' },
  { path: 'audit-log', name: 'Audit log', icon: 'audit' },
  { path: 'developers', name: 'Developers', icon: 'developer' },
  { path: 'system', name: 'System', icon: 'system', role: 'operator' },
]

/** The screens visible to a role. */
export function placesFor(role: Role): readonly Place[] {
  return places.filter((place) => place.role === undefined || place.role === role)
}
