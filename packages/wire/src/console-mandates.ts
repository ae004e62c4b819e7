import { Type, type Static } from 'typebox'

import { ownerRoles } from './api-keys.ts'
import { Activity } from './console-overview.ts'
import { endpoint } from './endpoint.ts'
import { OneOf, Sum } from './fields.ts'
import { Mandate, mandateStatuses } from './mandates.ts'
import { pageParameters } from './pages.ts'
import { ProofRecord } from './payments.ts'

/** A mandate with what a table of them shows beside. */
export const ListedMandate = Type.Object({
  ...Mandate.properties,
  agent_name: Type.String(),
  is_agent_revoked: Type.Boolean({
    description: 'Whether its agent is revoked, so that nothing can be spent, whatever its `status`.',
  }),
  is_stopped: Type.Boolean({ description: 'Whether a stop of all agents paused it.' }),
})
export type ListedMandate = Static<typeof ListedMandate>

/** What a list of mandates is narrowed to; of a revoked agent none is active or paused. */
export const listedStatuses = [...mandateStatuses, 'expired', 'agent_revoked'] as const
export type ListedStatus = (typeof listedStatuses)[number]

const MandateParams = Type.Object({ mandate_id: Type.String() })

export const listConsoleMandates = endpoint({
  id: 'listConsoleMandates',
  method: 'GET',
  path: '/v1/console/mandates',
  tag: 'Console',
  summary:
    'Mandates, newest first. A page may hold fewer than asked for while `Link` still names a next one.',
  roles: ownerRoles,
  query: Type.Object({
    ...pageParameters,
    agent_id: Type.Optional(Type.String()),
    status: Type.Optional(OneOf(listedStatuses)),
    q: Type.Optional(Type.String({ maxLength: 200, description: 'Part of the purpose, in any case.' })),
  }),
  responses: { 200: Type.Array(ListedMandate) },
  errors: ['query_too_slow'],
})

export const MandateDetail = Type.Object({
  ...ListedMandate.properties,
  paid_count: Type.Integer(),
  denied_count: Type.Integer(),
  /** Open holds, soonest to expire first, at most 100; `held_total` counts all. */
  open_holds: Type.Array(ProofRecord),
})
export type MandateDetail = Static<typeof MandateDetail>

export const getConsoleMandate = endpoint({
  id: 'getConsoleMandate',
  method: 'GET',
  path: '/v1/console/mandates/{mandate_id}',
  tag: 'Console',
  summary: 'One mandate with its open holds.',
  roles: ownerRoles,
  params: MandateParams,
  responses: { 200: MandateDetail },
  errors: ['not_found', 'query_too_slow'],
})

/** The widths of the stretches that spend over time is given in. */
export const spendSteps = ['hour', 'day'] as const

export const MandateSpend = Type.Object({
  mandate_id: Type.String(),
  step: OneOf(spendSteps),
  spent_before: Sum,
  /** Every stretch from the first to the last, oldest first, also those in which nothing happened. */
  stretches: Type.Array(Activity),
})
export type MandateSpend = Static<typeof MandateSpend>

export const getMandateSpend = endpoint({
  id: 'getMandateSpend',
  method: 'GET',
  path: '/v1/console/mandates/{mandate_id}/spend',
  tag: 'Console',
  summary: 'What was paid under a mandate over time.',
  roles: ownerRoles,
  params: MandateParams,
  query: Type.Object({
    starts_at: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Where the first stretch begins, at a quarter of an hour; 30 days ago by default.',
      }),
    ),
    step: Type.Optional(OneOf(spendSteps)),
    stretches: Type.Optional(Type.Integer({ minimum: 1, maximum: 400, default: 30 })),
  }),
  responses: { 200: MandateSpend },
  errors: ['not_found', 'query_too_slow'],
})
