import { clockOffsetOf } from '../../../domain/time/test-clock.ts'
import type { OwnDomain } from '../../store.ts'
import { lock, look, portOperation, put, range, remove, unchanged } from '../operation.ts'
import { accounts, auditEvents, sellerDomains, sellers } from '../tables.ts'

export const createSeller = portOperation('createSeller', {
  // If an account creates two pending sellers at once, one must see the other: lock the account.
  reads: ([seller]) => [
    ...(seller.isPending ? [lock(accounts, { id: seller.accountId }), ownOf(seller)] : []),
    look(sellerDomains, seller),
  ],

  decide([{ isPending, ...seller }, event], facts) {
    if (facts.written(sellers, seller)) return unchanged('created')
    if (facts.row(sellerDomains, seller)) return unchanged('seller_exists')
    if (isPending && facts.rows(ownOf(seller)).length > 0) return unchanged('seller_exists')
    const { environment, domain, accountId, id: sellerId } = seller
    const registration = put(sellerDomains, { environment, domain, accountId, sellerId })
    return {
      outcome: 'created',
      changes: [...(isPending ? [] : [registration]), put(sellers, seller), put(auditEvents, event)],
    }
  },
})

export const claimDomain = portOperation('claimDomain', {
  // The seller is locked, because a release removes it.
  reads: ([own]) => [ownOf(own, { isLocked: true }), look(sellerDomains, own)],

  decide([own, event], facts) {
    const [seller] = facts.rows(ownOf(own, { isLocked: true }))
    if (!seller) return unchanged('not_found')
    const registered = facts.row(sellerDomains, own)
    if (registered) return unchanged(registered.accountId === own.accountId ? 'claimed' : 'seller_exists')
    const { accountId, environment, domain } = own
    return {
      outcome: 'claimed',
      changes: [
        put(sellerDomains, { environment, domain, accountId, sellerId: seller.id }),
        put(auditEvents, { ...event, subjectId: seller.id }),
      ],
    }
  },
})

export const releaseDomain = portOperation('releaseDomain', {
  reads: ([registration]) => [lock(sellerDomains, registration)],

  decide([registration, events], facts) {
    const earlier = facts.written(auditEvents, events.own)
    if (earlier) return unchanged({ accountId: String(earlier.data['account_id']), id: earlier.subjectId })
    const registered = facts.row(sellerDomains, registration)
    if (!registered) return unchanged(undefined)
    const { accountId, environment, sellerId: id, domain } = registered
    const seller = facts.lockedRow(sellers, { accountId, id })
    const own = { ...events.own, subjectId: id, data: { domain, account_id: accountId } }
    const createdAtMs =
      events.theirs.createdAtMs + clockOffsetOf(facts.row(accounts, { id: accountId }), environment)
    const theirs = { ...events.theirs, accountId, subjectId: id, data: { domain }, createdAtMs }
    return {
      outcome: { accountId, id },
      changes: [
        remove(sellerDomains, registered),
        ...(seller ? [remove(sellers, seller)] : []),
        put(auditEvents, own),
        ...(accountId === own.accountId ? [] : [put(auditEvents, theirs)]),
      ],
    }
  },
})

/** The account's seller for a domain, pending or not. */
function ownOf({ accountId, environment, domain }: OwnDomain, { isLocked = false } = {}) {
  return range(sellers, { where: { accountId, environment, domain }, orderBy: 'id', limit: 1, isLocked })
}
