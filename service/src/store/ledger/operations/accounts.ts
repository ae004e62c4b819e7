import type { AccountStatus } from '@purser/wire/accounts'

import type { Account, AuditEvent } from '../../../domain/records.ts'
import type { NewApiKey } from '../../store.ts'
import { lock, look, put, unchanged, type Operation } from '../operation.ts'
import { accounts, apiKeys, auditEvents, identities, type AccountRow } from '../tables.ts'
import { isOwnerKey } from './api-keys.ts'

export interface NewAccount {
  readonly account: Account
  readonly keys: readonly NewApiKey[]
  readonly events: readonly AuditEvent[]
}

/** Records an account with its first keys, unless one of the same identity-provider user exists. */
export const createAccount: Operation<NewAccount, 'created' | 'account_exists'> = {
  name: 'createAccount',

  reads: ({ account }) => [look(identities, account)],

  decide({ account, keys, events }, facts) {
    const identity = facts.row(identities, account)
    if (identity) return unchanged(identity.accountId === account.id ? 'created' : 'account_exists')
    return {
      outcome: 'created',
      changes: [
        put(identities, { idpUserId: account.idpUserId, accountId: account.id }),
        put(accounts, { ...account, ownerKeys: keys.filter(isOwnerKey).length }),
        ...keys.map((key) => put(apiKeys, key)),
        ...events.map((event) => put(auditEvents, event)),
      ],
    }
  },
}

export interface AccountMove {
  readonly id: string
  readonly to: AccountStatus
  readonly atMs: number
  readonly events: readonly AuditEvent[]
}

/**
 * Disables or enables an account; the same answer again when it is so already. `voidPayments` ends what was open, before a
 * disabling is answered: a capture that had looked at the account before has then been made.
 */
export const moveAccount: Operation<AccountMove, AccountRow | 'not_found'> = {
  name: 'moveAccount',

  reads: ({ id }) => [lock(accounts, { id })],

  decide({ id, to, atMs, events }, facts) {
    const account = facts.row(accounts, { id })
    if (!account) return unchanged('not_found')
    if ((account.disabledAtMs !== null) === (to === 'disabled')) return unchanged(account)
    const moved = { ...account, disabledAtMs: to === 'disabled' ? atMs : null }
    return {
      outcome: moved,
      changes: [put(accounts, moved), ...events.map((event) => put(auditEvents, event))],
    }
  },
}
