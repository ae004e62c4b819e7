import { Type, type Static } from 'typebox'

import { ownerRoles } from './roles.ts'
import { endpoint, type Endpoint } from './endpoint.ts'
import type { ErrorCode } from './errors.ts'
import {
  Amount,
  Category,
  described,
  Domain,
  Id,
  OneOf,
  Purpose,
  Sum,
  Text,
  Timestamp,
  Usdc,
  UsdcByDefault,
} from './fields.ts'
import { PageOf, PageQuery } from './pages.ts'
import { maxItems, maxLengths } from './lengths.ts'

export const mandateStatuses = ['active', 'paused', 'revoked'] as const
export type MandateStatus = (typeof mandateStatuses)[number]
export const MandateStatus = OneOf(mandateStatuses)

/** Mandate (fields accepted on creation). */
export const NewMandate = Type.Object({
  agent_id: Text(maxLengths.id, { description: 'Agent of the mandate.' }),
  purpose: Purpose,
  max_spend_total: described(Amount, 'Total budget in USDC, as decimal text.'),
  max_spend_per_transaction: described(Amount, 'Max amount of one payment in USDC, as decimal text.'),
  currency: UsdcByDefault,
  allowed_sellers: Type.Optional(
    Type.Array(Domain, {
      maxItems: maxItems.sellers,
      default: [],
      description: 'Allowed seller domains; `*` allows every seller, an empty list none.',
      examples: [['api.example.com']],
    }),
  ),
  allowed_categories: Type.Optional(
    Type.Array(Category, {
      maxItems: maxItems.categories,
      default: [],
      description:
        'Allowed categories of a proposed payment, checked by evaluate and verify-agent; an empty list or `*` allows every category.',
    }),
  ),
  expires_at: described(Timestamp, 'When the mandate expires, as a time with a time zone (RFC 3339).'),
})

export const Mandate = Type.Object({
  id: described(Id, 'Id of the mandate.'),
  agent_id: described(Id, 'Agent of the mandate.'),
  purpose: Purpose,
  max_spend_total: described(Amount, 'Total budget in USDC, as provided.'),
  max_spend_per_transaction: described(Amount, 'Max amount of one payment in USDC, as provided.'),
  currency: Usdc,
  allowed_sellers: Type.Array(Domain, {
    maxItems: maxItems.sellers,
    description: 'Allowed seller domains; `*` allows every seller, an empty list none.',
  }),
  allowed_categories: Type.Array(Category, {
    maxItems: maxItems.categories,
    description: 'Allowed categories of a proposed payment; an empty list or `*` allows every category.',
  }),
  expires_at: described(
    Timestamp,
    'When the mandate expires, as provided: a time with a time zone (RFC 3339). Expiry does not change its `status`.',
  ),
  status: described(MandateStatus, 'Only an `active` mandate allows payments, until it expires.'),
  spent_total: described(Sum, 'Sum of all verified payments in USDC, as decimal text.'),
  held_total: described(
    Sum,
    'Sum in USDC held by open proofs: charged when a proof is verified, released when it ends.',
  ),
  remaining_budget: described(
    Sum,
    '`max_spend_total` minus `spent_total` in USDC; held amounts are not deducted.',
  ),
  created_at: described(Timestamp, 'When the mandate was created.'),
  updated_at: described(Timestamp, 'When its status last changed; initially when it was created.'),
})
export type Mandate = Static<typeof Mandate>

const MandateParams = Type.Object({ mandate_id: described(Id, 'Id of the mandate.') })

export const createMandate = endpoint({
  id: 'createMandate',
  method: 'POST',
  path: '/mandates',
  tag: 'Mandates',
  summary: 'Creates a mandate.',
  roles: ownerRoles,
  body: NewMandate,
  responses: { 201: Mandate },
  responseDescriptions: { 201: 'The mandate was created and is active.' },
  errors: ['not_found', 'agent_revoked'],
  errorDescriptions: {
    not_found: 'the agent does not exist in the account and environment of the key',
    agent_revoked: 'the agent of the mandate is revoked',
  },
})

export const listMandates = endpoint({
  id: 'listMandates',
  method: 'GET',
  path: '/mandates',
  tag: 'Mandates',
  summary: 'Lists mandates, newest first.',
  roles: [...ownerRoles, 'agent'],
  query: PageQuery,
  responses: { 200: PageOf(Mandate) },
  responseDescriptions: { 200: "A page of mandates. An agent's key sees only those of its own agent." },
  errors: [],
})

export const getMandate = endpoint({
  id: 'getMandate',
  method: 'GET',
  path: '/mandates/{mandate_id}',
  tag: 'Mandates',
  summary: 'One mandate.',
  roles: [...ownerRoles, 'agent'],
  params: MandateParams,
  responses: { 200: Mandate },
  responseDescriptions: { 200: 'The mandate.' },
  errors: ['not_found'],
})

/** The three state transitions of a mandate. */
export const mandateMoves = ['pause', 'resume', 'revoke'] as const
export type MandateMove = (typeof mandateMoves)[number]

export const pauseMandate = mandateMove('pause', {
  summary: 'Pauses a mandate, and voids its open proofs at once.',
  to: 'paused',
  errors: ['mandate_revoked'],
})
export const resumeMandate = mandateMove('resume', {
  summary: 'Resumes a paused mandate.',
  to: 'active',
  errors: ['mandate_revoked'],
})
export const revokeMandate = mandateMove('revoke', {
  summary: 'Revokes a mandate permanently, and voids its open proofs at once.',
  to: 'revoked',
  errors: [],
})

interface Move {
  readonly summary: string
  readonly to: MandateStatus
  readonly errors: readonly ErrorCode[]
}

function mandateMove(move: MandateMove, { summary, to, errors }: Move) {
  return endpoint({
    id: `${move}Mandate`,
    method: 'PATCH',
    path: `/mandates/{mandate_id}/${move}`,
    tag: 'Mandates',
    summary,
    roles: ownerRoles,
    params: MandateParams,
    responses: { 200: Mandate },
    responseDescriptions: { 200: `The mandate is ${to}, now or before.` },
    errors: ['not_found', ...errors],
  } satisfies Endpoint<never, never, typeof MandateParams>)
}
