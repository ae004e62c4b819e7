import { OneOf } from './fields.ts'

/** What a key may do; each role is described in docs/decisions. */
export const roles = ['operator', 'owner', 'approver', 'agent', 'merchant'] as const
export type Role = (typeof roles)[number]
export const Role = OneOf(roles)

/** The roles with access to everything in their account. */
export const ownerRoles = ['operator', 'owner'] as const satisfies readonly Role[]
/** The roles that read everything in their account: an approver decides on requests, and may narrow mandates. */
export const readerRoles = [...ownerRoles, 'approver'] as const satisfies readonly Role[]
export const ReaderRole = OneOf(readerRoles)
