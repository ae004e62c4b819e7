import { createHash } from 'node:crypto'

import type { Account } from '../../../domain/records.ts'
import { lock, look, portOperation, put, unchanged } from '../operation.ts'
import { toAccount } from '../reads/records.ts'
import { accounts, auditEvents, identities } from '../tables.ts'
import { changesOfKey, isOwnerKey } from './api-keys.ts'

export const createAccount = portOperation('createAccount', {
  reads: ([account]) => [look(identities, identityOf(account))],

  decide([account, keys, events], facts) {
    const identity = facts.row(identities, identityOf(account))
    if (identity) return unchanged(identity.accountId === account.id ? 'created' : 'account_exists')
    return {
      outcome: 'created',
      changes: [
        put(identities, { ...identityOf(account), accountId: account.id }),
        put(accounts, { ...account, ownerKeys: keys.filter(isOwnerKey).length, clockOffsetMs: null }),
        ...keys.flatMap(changesOfKey),
        ...events.map((event) => put(auditEvents, event)),
      ],
    }
  },
})

/** What fits into an index; providers use far less. */
const maxIdentityLength = 255

/** The key of an identity provider user: its id, or the hash of one that is too long for an index. */
export function identityOf({ idpUserId }: Pick<Account, 'idpUserId'>): { readonly idpUserId: string } {
  if (idpUserId.length <= maxIdentityLength) return { idpUserId }
  return { idpUserId: `sha256:${createHash('sha256').update(idpUserId).digest('hex')}` }
}

/**
 * Before a disabling is answered, `voidPayments` ends the open payments: by then, any capture that had read the account
 * earlier has committed.
 */
export const moveAccount = portOperation('moveAccount', {
  reads: ([id]) => [lock(accounts, { id })],

  decide([id, to, { atMs, events }], facts) {
    const account = facts.row(accounts, { id })
    if (!account) return unchanged('not_found')
    const isMoved = (account.disabledAtMs !== null) === (to === 'disabled')
    if (isMoved || events.some((event) => facts.written(auditEvents, event))) {
      return unchanged(toAccount(account))
    }
    const moved = { ...account, disabledAtMs: to === 'disabled' ? atMs : null }
    return {
      outcome: toAccount(moved),
      changes: [put(accounts, moved), ...events.map((event) => put(auditEvents, event))],
    }
  },
})
