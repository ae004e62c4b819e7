import { createSeller, listSellers, type Seller as WireSeller } from '@purser/wire/sellers'

import { auditEvent } from '../domain/audit.ts'
import { normalizeHostName } from '../domain/host-name.ts'
import type { Seller } from '../domain/records.ts'
import { created, refuse } from '../http/answers.ts'
import { answerPage } from '../http/pagination.ts'
import type { Serve } from '../http/serve.ts'
import { parseExactly } from '../http/validation/exact-json.ts'
import { toTimestamp, type RouteContext } from './context.ts'

export function serveSellers(serve: Serve, { store, now, ids }: RouteContext): void {
  serve(createSeller, async ({ caller, body, json = '' }) => {
    const nowMs = now()
    const seller: Seller = {
      accountId: caller.accountId,
      environment: caller.environment,
      id: ids.next('seller'),
      name: body.name,
      domain: normalizeHostName(body.domain.trim()),
      priceConfig: JSON.stringify((parseExactly(json) as WireSeller).price_config),
      createdAtMs: nowMs,
    }
    const event = auditEvent(caller, caller, {
      id: ids.next('auditEvent'),
      type: 'seller.created',
      subjectId: seller.id,
      data: { domain: seller.domain },
      atMs: nowMs,
    })
    const outcome = await store.createSeller(seller, event)
    return outcome === 'created' ? created(toWire(seller)) : refuse(outcome)
  })

  serve(listSellers, ({ caller, query, url }) =>
    answerPage(query, url, (page) => store.listSellers(caller, page), toWire),
  )
}

/** As the interface writes it. */
export function toWire(seller: Seller): WireSeller {
  return {
    id: seller.id,
    name: seller.name,
    domain: seller.domain,
    price_config: parseExactly(seller.priceConfig) as WireSeller['price_config'],
    created_at: toTimestamp(seller.createdAtMs),
  }
}
