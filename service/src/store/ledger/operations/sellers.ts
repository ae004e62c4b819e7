import type { AuditEvent, RegisteredSeller, Seller } from '../../../domain/records.ts'
import { eventsOfRelease } from '../../released-domain.ts'
import type { Registration, ReleaseEvents } from '../../store.ts'
import { lock, look, put, remove, unchanged, type Operation } from '../operation.ts'
import { auditEvents, sellerDomains, sellers } from '../tables.ts'

export interface NewSeller {
  readonly seller: Seller
  readonly event: AuditEvent
}

/** Registers a seller under its domain, unless another is registered there. */
export const createSeller: Operation<NewSeller, 'created' | 'seller_exists'> = {
  name: 'createSeller',

  reads: ({ seller }) => [look(sellerDomains, seller)],

  decide({ seller, event }, facts) {
    const registered = facts.row(sellerDomains, seller)
    if (registered) return unchanged(registered.sellerId === seller.id ? 'created' : 'seller_exists')
    const { environment, domain, accountId, id: sellerId } = seller
    return {
      outcome: 'created',
      changes: [
        put(sellerDomains, { environment, domain, accountId, sellerId }),
        put(sellers, seller),
        put(auditEvents, event),
      ],
    }
  },
}

export interface DomainRelease {
  readonly registration: Registration
  readonly events: ReleaseEvents
}

/** Removes the seller under a domain, whoever owns it; undefined when there is none. Payments keep its id. */
export const releaseDomain: Operation<DomainRelease, RegisteredSeller | undefined> = {
  name: 'releaseDomain',

  reads({ registration }, facts) {
    const domain = lock(sellerDomains, registration)
    const registered = facts.knows(domain) ? facts.row(sellerDomains, registration) : undefined
    if (!registered) return [domain]
    return [domain, look(sellers, { accountId: registered.accountId, id: registered.sellerId })]
  },

  decide({ registration, events }, facts) {
    const registered = facts.row(sellerDomains, registration)
    if (!registered) return unchanged(undefined)
    const { accountId, sellerId: id, domain } = registered
    const seller = facts.row(sellers, { accountId, id })
    return {
      outcome: { accountId, id },
      changes: [
        remove(sellerDomains, registered),
        ...(seller ? [remove(sellers, seller)] : []),
        ...eventsOfRelease(events, { accountId, id }, domain).map((event) => put(auditEvents, event)),
      ],
    }
  },
}
