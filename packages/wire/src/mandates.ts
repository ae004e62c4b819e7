import { Type, type Static } from 'typebox'

import { ownerRoles } from './api-keys.ts'
import { endpoint, type Endpoint } from './endpoint.ts'
import type { ErrorCode } from './errors.ts'
import { Amount, Id, OneOf, Sum, Timestamp, Usdc, UsdcByDefault } from './fields.ts'
import { PageQuery } from './pages.ts'

export const mandateStatuses = ['active', 'paused', 'revoked'] as const
export type MandateStatus = (typeof mandateStatuses)[number]

/** Mandate (fields accepted on creation). */
export const NewMandate = Type.Object({
  agent_id: Type.String({ description: 'The agent that the mandate is for.' }),
  purpose: Type.String({ examples: ['Buy research data'] }),
  max_spend_total: Amount,
  max_spend_per_transaction: Amount,
  currency: UsdcByDefault,
  allowed_sellers: Type.Optional(
    Type.Array(Type.String(), {
      default: [],
      description: 'Seller domains; `*` allows every seller, an empty list none.',
      examples: [['api.example.com']],
    }),
  ),
  allowed_categories: Type.Optional(
    Type.Array(Type.String(), { default: [], description: 'An empty list, or `*`, allows every category.' }),
  ),
  expires_at: Timestamp,
})

export const Mandate = Type.Object({
  id: Id,
  agent_id: Id,
  purpose: Type.String(),
  max_spend_total: Amount,
  max_spend_per_transaction: Amount,
  currency: Usdc,
  allowed_sellers: Type.Array(Type.String()),
  allowed_categories: Type.Array(Type.String()),
  expires_at: Timestamp,
  status: OneOf(mandateStatuses),
  spent_total: Sum,
  held_total: Sum,
  remaining_budget: Sum,
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type Mandate = Static<typeof Mandate>

const MandateParams = Type.Object({ mandate_id: Type.String() })

export const createMandate = endpoint({
  id: 'createMandate',
  method: 'POST',
  path: '/mandates',
  tag: 'Mandates',
  summary: 'Creates a mandate.',
  roles: ownerRoles,
  body: NewMandate,
  responses: { 201: Mandate },
  errors: ['not_found', 'agent_revoked'],
})

export const listMandates = endpoint({
  id: 'listMandates',
  method: 'GET',
  path: '/mandates',
  tag: 'Mandates',
  summary: 'Lists mandates, newest first.',
  roles: [...ownerRoles, 'agent'],
  query: PageQuery,
  responses: { 200: Type.Array(Mandate) },
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
  errors: ['not_found'],
})

/** The three moves between the states of a mandate. */
export const mandateMoves = ['pause', 'resume', 'revoke'] as const
export type MandateMove = (typeof mandateMoves)[number]

export const pauseMandate = mandateMove('pause', 'Pauses a mandate, and ends its open holds at once.', [
  'mandate_revoked',
])
export const resumeMandate = mandateMove('resume', 'Resumes a paused mandate.', ['mandate_revoked'])
export const revokeMandate = mandateMove(
  'revoke',
  'Revokes a mandate for good, and ends its open holds at once.',
  [],
)

function mandateMove(move: MandateMove, summary: string, errors: ErrorCode[]) {
  return endpoint({
    id: `${move}Mandate`,
    method: 'PATCH',
    path: `/mandates/{mandate_id}/${move}`,
    tag: 'Mandates',
    summary,
    roles: ownerRoles,
    params: MandateParams,
    responses: { 200: Mandate },
    errors: ['not_found', ...errors],
  } satisfies Endpoint<never, never, typeof MandateParams>)
}
