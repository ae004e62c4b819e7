import type { AuditEvent } from '../../../domain/records.ts'
import type { Refusal, Tallies } from '../../console/store.ts'
import { lock, look, operation, put, unchanged, type Change } from '../operation.ts'
import { auditEvents, keyUses, refusals, sellerDomains } from '../tables.ts'

export const recordEvent = operation<AuditEvent, undefined>('recordEvent', {
  reads: () => [],
  decide: (event, facts) =>
    facts.written(auditEvents, event)
      ? unchanged(undefined)
      : { outcome: undefined, changes: [put(auditEvents, event)] },
})

export interface TalliesCall extends Tallies {
  /** The process, which makes one call after the other. */
  readonly writerId: string
  /** Identifies this call of the process: what it has already added is not added again. */
  readonly id: string
}

/** A refusal for a domain that the account does not own is omitted. */
export const addTallies = operation<TalliesCall, undefined>('addTallies', {
  reads: (call) => [
    ...call.keyUses.map((use) => lock(keyUses, use)),
    ...call.refusals.map((refusal) => look(sellerDomains, domainOf(refusal))),
    ...call.refusals.map((refusal) => lock(refusals, refusal)),
  ],

  decide(call, facts) {
    const changes: Change[] = []
    for (const { accountId, keyId, usedAtMs } of call.keyUses) {
      const known = facts.row(keyUses, { accountId, keyId })
      if (known === undefined || known.usedAtMs < usedAtMs) {
        changes.push(put(keyUses, { accountId, keyId, usedAtMs }))
      }
    }
    for (const refusal of call.refusals) {
      const owner = facts.row(sellerDomains, domainOf(refusal))?.accountId
      if (owner !== refusal.accountId) continue
      const known = facts.row(refusals, refusal)
      if (known?.addedBy[call.writerId] === call.id) continue
      const count = (known?.count ?? 0) + refusal.count
      const { accountId, environment, subject, reason, startsAtMs } = refusal
      const addedBy = { ...known?.addedBy, [call.writerId]: call.id }
      changes.push(put(refusals, { accountId, environment, subject, reason, startsAtMs, count, addedBy }))
    }
    return { outcome: undefined, changes }
  },
})

function domainOf({ environment, subject }: Refusal) {
  return { environment, domain: subject }
}
