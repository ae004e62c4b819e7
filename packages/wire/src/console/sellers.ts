import { Type, type Static } from '../schema/type.ts'

import { readerRoles } from '../roles.ts'
import { endpoint } from '../endpoint.ts'
import { described, NetSum, Timestamp } from '../fields.ts'
import { PageOf, pageParameters } from '../pages.ts'
import { VerificationFailure, verificationFailures } from '../payments.ts'
import { Seller } from '../sellers.ts'

/** A seller with its revenue, and why verifications for its domain failed. */
export const SellerSummary = Type.Object({
  ...Seller.properties,
  paid_count: Type.Integer({ description: 'Number of payments to it.' }),
  revenue_total: described(NetSum, 'Payments to it minus refunds, in USDC.'),
  last_month_starts_at: described(Timestamp, 'Start of the last 30 days, at midnight UTC.'),
  revenue_last_month: described(NetSum, 'Payments to it minus refunds in the last 30 days, in USDC.'),
  failures_last_month: Type.Array(
    Type.Object(
      {
        reason: described(VerificationFailure, 'The step that failed.'),
        count: Type.Integer({
          description:
            'Number of verifications that failed at this step; counted a few seconds late, and a crash may lose the latest.',
        }),
      },
      { title: 'FailureCount', description: 'Number of failed verifications for one reason.' },
    ),
    {
      maxItems: verificationFailures.length,
      description: 'Failed verifications for its domain in the last 30 days, by reason.',
    },
  ),
})
export type SellerSummary = Static<typeof SellerSummary>

export const listConsoleSellers = endpoint({
  id: 'listConsoleSellers',
  method: 'GET',
  path: '/v1/console/sellers',
  tag: 'Console',
  summary: 'Lists sellers with their revenue, newest first.',
  roles: readerRoles,
  query: Type.Object(pageParameters),
  responses: { 200: PageOf(SellerSummary) },
  responseDescriptions: { 200: 'A page of sellers.' },
  errors: ['query_too_slow'],
})
