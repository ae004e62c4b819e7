import { Type, type Static } from 'typebox'

import { ownerRoles } from './api-keys.ts'
import { endpoint } from './endpoint.ts'
import { OneOf, Sum, Timestamp } from './fields.ts'
import { pageParameters } from './pages.ts'
import { verificationFailures } from './payments.ts'
import { Seller } from './sellers.ts'

/** A seller with what was paid to it, and why verifications for its domain failed. */
export const SellerSummary = Type.Object({
  ...Seller.properties,
  paid_count: Type.Integer(),
  revenue_total: Sum,
  /** The last 30 days begin at midnight UTC. */
  last_month_starts_at: Timestamp,
  revenue_last_month: Sum,
  failures_last_month: Type.Array(
    Type.Object({
      reason: OneOf(verificationFailures),
      count: Type.Integer({
        description: 'Counted a few seconds late, and a crash may lose the latest.',
      }),
    }),
  ),
})
export type SellerSummary = Static<typeof SellerSummary>

export const listConsoleSellers = endpoint({
  id: 'listConsoleSellers',
  method: 'GET',
  path: '/v1/console/sellers',
  tag: 'Console',
  summary: 'Sellers with their revenue, newest first.',
  roles: ownerRoles,
  query: Type.Object(pageParameters),
  responses: { 200: Type.Array(SellerSummary) },
  errors: ['query_too_slow'],
})
