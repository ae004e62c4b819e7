import { Type, type Static } from '../schema/type.ts'

import { endpoint } from '../endpoint.ts'
import { described, Domain, Id, Sum } from '../fields.ts'
import { maxItems, maxLengths } from '../lengths.ts'
import { readerRoles } from '../roles.ts'

/** A day in UTC, such as `2026-11-20`. */
const Day = (description: string) =>
  Type.String({
    maxLength: maxLengths.day,
    description,
    examples: ['2026-11-20'],
  })

const sums = {
  payments: Type.Integer({ description: 'Number of payments collected.' }),
  gross: described(Sum, 'Sum of those payments in USDC.'),
  refunds: Type.Integer({ description: 'Number of refunds sent, of payments of any day.' }),
  refunded: described(Sum, 'Sum of those refunds in USDC.'),
  net: described(Sum, '`gross` minus `refunded` in USDC; negative if more was refunded than collected.'),
}

export const SettlementDay = Type.Object({ day: Day('Day in UTC.'), ...sums })

export const Settlement = Type.Object({
  seller_id: described(Id, 'Id of the seller.'),
  domain: described(Domain, 'Domain under which it collects.'),
  from: Day('First day, in UTC.'),
  to: Day('Last day, in UTC.'),
  days: Type.Array(SettlementDay, {
    maxItems: maxItems.settlementDays,
    description: 'The days on which the seller collected or refunded anything, oldest first.',
  }),
  total: Type.Object(sums, { title: 'SettlementTotal', description: 'The sums of all days.' }),
})
export type Settlement = Static<typeof Settlement>

export const getSettlements = endpoint({
  id: 'getSettlements',
  method: 'GET',
  path: '/v1/sellers/{seller_id}/settlements',
  tag: 'Sellers',
  summary: 'What a seller has collected and refunded, by day in UTC; at most 400 days.',
  roles: [...readerRoles, 'merchant'],
  params: Type.Object({ seller_id: described(Id, 'Id of the seller.') }),
  query: Type.Object({
    from: Type.Optional(Day('First day, in UTC; 29 days before `to` by default.')),
    to: Type.Optional(Day('Last day, in UTC; today by default.')),
  }),
  responses: { 200: Settlement },
  responseDescriptions: { 200: 'The settlements of the seller.' },
  errors: ['not_found', 'query_too_slow'],
})
