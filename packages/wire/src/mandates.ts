// Longer than 400 lines: it has every field of a mandate, with its meaning and bounds.
import { Type, type Static } from './schema/type.ts'

import { ownerRoles, readerRoles } from './roles.ts'
import { endpoint, type Endpoint } from './endpoint.ts'
import type { ErrorCode } from './errors.ts'
import {
  Amount,
  Category,
  described,
  Domain,
  Id,
  Metadata,
  MetadataFilter,
  Nullable,
  OneOf,
  Purpose,
  Sum,
  Text,
  Timestamp,
  Usdc,
  UsdcByDefault,
  noOtherFields,
} from './fields.ts'
import { Limits, LimitUsages, NewLimits } from './limits/limits.ts'
import { PageOf, pageParameters, PageQuery } from './pages.ts'
import { maxItems, maxLengths } from './lengths.ts'

export const mandateStatuses = ['active', 'paused', 'revoked'] as const
export type MandateStatus = (typeof mandateStatuses)[number]
export const MandateStatus = OneOf(mandateStatuses)

/** The number of a version of a mandate's terms. */
export const MandateVersionNumber = Type.Integer({
  minimum: 1,
  description: 'Number of the version of the terms.',
})

/** How long an authorized payment may wait for its capture. */
export const captureSeconds = { least: 60, default: 600, most: 86_400 } as const
export const CaptureSeconds = Type.Integer({ minimum: captureSeconds.least, maximum: captureSeconds.most })
/**
 * When a payment's category is checked. `advisory`: by evaluate and verify-agent, as in interface 0.1.0.
 * `enforced`: also when a proof is issued, so that no payment is made without an allowed category.
 */
export const categoryChecks = ['advisory', 'enforced'] as const
export type CategoryCheck = (typeof categoryChecks)[number]
export const CategoryCheck = OneOf(categoryChecks)

/** A URL of resources that may be bought, which may end in `*`. */
export const ResourcePattern = Type.String({
  format: 'resource-pattern',
  maxLength: maxLengths.url,
  description: 'URL of a resource without a query; a `*` at its end matches any continuation of the path.',
  examples: ['https://api.example.com/reports/*'],
})
/** When a person must approve a payment. */
export const ApprovalTerms = Type.Object(
  {
    above: Type.Optional(
      described(
        Nullable(Amount),
        'A payment above this amount in USDC needs approval; null or omitted: no amount does.',
      ),
    ),
    first_purchase_at_seller: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Whether the first purchase from each seller needs approval. The seller is the host of the resource.',
      }),
    ),
    required: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 2,
        default: 1,
        description: 'Number of different people who must approve.',
      }),
    ),
  },
  noOtherFields,
)
export type ApprovalTerms = Static<typeof ApprovalTerms>

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
        'Allowed categories of a payment, checked as `category_check` says; an empty list or `*` allows every category.',
    }),
  ),
  allowed_resources: Type.Optional(
    Type.Array(ResourcePattern, {
      maxItems: maxItems.resources,
      default: [],
      description:
        'URLs that may be bought, checked when a proof is issued and by evaluate and verify-agent; an empty list allows every URL.',
      examples: [['https://api.example.com/reports/*']],
    }),
  ),
  category_check: Type.Optional({
    ...described(
      CategoryCheck,
      'When the category is checked. `advisory`: only by evaluate and verify-agent. `enforced`: also when a proof is issued, which then needs an allowed `category`.',
    ),
    default: 'advisory',
  }),
  metadata: Type.Optional(Metadata),
  limits: Type.Optional(NewLimits),
  budget_id: Type.Optional(
    described(
      Nullable(Text(maxLengths.id)),
      'Shared budget that its payments also count in, with all budgets above it; null or omitted for none.',
    ),
  ),
  expires_at: described(Timestamp, 'When the mandate expires, as a time with a time zone (RFC 3339).'),
  max_capture_seconds: Type.Optional(
    described(
      CaptureSeconds,
      'Max time in seconds between the authorization of a payment and its capture; 600 by default.',
    ),
  ),
  approval: Type.Optional(
    described(Nullable(ApprovalTerms), 'When a person must approve a payment; null or omitted: never.'),
  ),
})

/** The terms of a mandate that an amendment can change, as returned. */
const terms = {
  purpose: Purpose,
  max_spend_total: described(Amount, 'Total budget in USDC, as provided.'),
  max_spend_per_transaction: described(Amount, 'Max amount of one payment in USDC, as provided.'),
  allowed_sellers: Type.Array(Domain, {
    maxItems: maxItems.sellers,
    description: 'Allowed seller domains; `*` allows every seller, an empty list none.',
  }),
  allowed_categories: Type.Array(Category, {
    maxItems: maxItems.categories,
    description: 'Allowed categories of a payment; an empty list or `*` allows every category.',
  }),
  allowed_resources: Type.Array(ResourcePattern, {
    maxItems: maxItems.resources,
    description: 'URLs that may be bought, as provided; an empty list allows every URL.',
  }),
  category_check: described(
    CategoryCheck,
    '`advisory`: evaluate and verify-agent check the category. `enforced`: proofs need an allowed category, too.',
  ),
  metadata: described(
    Metadata,
    'Texts that were provided with the mandate, by name; empty if there are none.',
  ),
  limits: Limits,
  budget_id: described(Nullable(Id), 'Shared budget of the mandate; null for none.'),
  expires_at: described(
    Timestamp,
    'When the mandate expires, as provided: a time with a time zone (RFC 3339). Expiry does not change its `status`.',
  ),
  approval: described(
    Nullable(
      Type.Object(
        {
          above: described(
            Nullable(Amount),
            'A payment above this amount in USDC needs approval; null if no amount does.',
          ),
          first_purchase_at_seller: Type.Boolean({
            description: 'Whether the first purchase from each seller needs approval.',
          }),
          required: Type.Integer({
            minimum: 1,
            maximum: 2,
            description: 'Number of different people who must approve.',
          }),
        },
        { title: 'ApprovalRule' },
      ),
    ),
    'When a person must approve a payment; null if no payment needs approval, except for limits that ask for it.',
  ),
}

/** The names of the terms. */
export type MandateTerm = keyof typeof terms

export const Mandate = Type.Object({
  id: described(Id, 'Id of the mandate.'),
  agent_id: described(Id, 'Agent of the mandate.'),
  ...terms,
  currency: Usdc,
  status: described(MandateStatus, 'Only an `active` mandate allows payments, until it expires.'),
  version: described(
    MandateVersionNumber,
    'Number of the version of its terms: 1 when it is created, one more with each amendment. Send it in `If-Match` to amend the mandate.',
  ),
  spent_total: described(Sum, 'Sum of all verified payments, minus refunds, in USDC, as decimal text.'),
  held_total: described(
    Sum,
    'Sum in USDC held by open proofs: charged when a proof is verified, released when it ends.',
  ),
  authorized_total: described(
    Sum,
    'Sum in USDC of authorized payments: charged when their merchants capture them, released when they end. A payment that is past its deadline can no longer be captured, and counts here until the service releases it, usually within a second.',
  ),
  remaining_budget: described(
    Sum,
    '`max_spend_total` minus `spent_total` in USDC; held and authorized amounts are not deducted.',
  ),
  max_capture_seconds: described(
    CaptureSeconds,
    'Max time in seconds between the authorization of a payment and its capture.',
  ),
  usage: Type.Optional(LimitUsages),
  created_at: described(Timestamp, 'When the mandate was created.'),
  updated_at: described(
    Timestamp,
    'When its status or its terms last changed; initially when it was created.',
  ),
})
export type Mandate = Static<typeof Mandate>
export type MandateTerms = Pick<Mandate, MandateTerm>

/** The changes of an amendment: omitted terms stay unchanged. */
export const MandateAmendment = Type.Object(
  {
    purpose: Type.Optional(described(Purpose, 'What the budget is for. Only an owner changes it.')),
    max_spend_total: Type.Optional(described(Amount, 'Total budget in USDC, as decimal text.')),
    max_spend_per_transaction: Type.Optional(
      described(Amount, 'Max amount of one payment in USDC, as decimal text.'),
    ),
    allowed_sellers: Type.Optional(described(terms.allowed_sellers, 'Allowed seller domains, all of them.')),
    allowed_categories: Type.Optional(
      described(terms.allowed_categories, 'Allowed categories, all of them.'),
    ),
    allowed_resources: Type.Optional(
      described(
        terms.allowed_resources,
        'URLs that may be bought, all of them; an empty list allows every URL.',
      ),
    ),
    category_check: Type.Optional(
      described(CategoryCheck, 'When the category is checked: `enforced` also when a proof is issued.'),
    ),
    metadata: Type.Optional(
      described(Metadata, 'Your own texts, by name, all of them. Only an owner changes them.'),
    ),
    expires_at: Type.Optional(
      described(Timestamp, 'When the mandate expires, as a time with a time zone (RFC 3339).'),
    ),
    approval: Type.Optional(
      described(Nullable(ApprovalTerms), 'When a person must approve a payment, as a whole; null: never.'),
    ),
    limits: Type.Optional(
      described(
        NewLimits,
        'Limits over time, all of them. One that counts over the same window as before keeps its id and what it has counted; one that is added counts what was committed in its current period.',
      ),
    ),
    budget_id: Type.Optional(
      described(
        Nullable(Text(maxLengths.id)),
        'Shared budget in which its payments count from now on; null for none. Earlier payments count where they were booked. Only an owner changes it.',
      ),
    ),
    end_holds: Type.Optional(
      Type.Boolean({
        description:
          'Whether all open proofs of the mandate end at once, also if no term changes, so that what they hold does not stand in the way of a smaller budget. Default false: they stay.',
      }),
    ),
  },
  noOtherFields,
)
export type MandateAmendment = Static<typeof MandateAmendment>

/** The terms of a mandate from one amendment to the next. */
export const MandateVersion = Type.Object({
  version: described(MandateVersionNumber, 'Number of the version; the highest is the current one.'),
  ...terms,
  changed_by: described(
    Nullable(Id),
    'Key or session that made the amendment; null for version 1, which was created with the mandate.',
  ),
  created_at: described(Timestamp, 'When these terms took effect.'),
})
export type MandateVersion = Static<typeof MandateVersion>

/** Why a budget cannot be cut this far, with the figures. */
export const BelowCommitted = Type.Object({
  detail: Type.Literal('budget_below_committed', { description: 'Always `budget_below_committed`.' }),
  max_spend_total: described(Amount, 'Total budget that was requested, in USDC.'),
  spent_total: described(Sum, 'Sum of all verified payments, minus refunds, in USDC.'),
  held_total: described(Sum, 'Sum in USDC held by open proofs.'),
  authorized_total: described(
    Sum,
    'Sum in USDC of authorized payments, which only their merchants or their deadlines end.',
  ),
})
export type BelowCommitted = Static<typeof BelowCommitted>

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
  responseDescriptions: {
    201: 'The mandate was created and is active; or it was created by an earlier request with this `Idempotency-Key`, and is as it is now.',
  },
  errors: [
    'invalid_idempotency_key',
    'idempotency_key_reused',
    'not_found',
    'budget_not_found',
    'agent_revoked',
  ],
  errorDescriptions: {
    idempotency_key_reused: 'your account used the Idempotency-Key to create something else',
    store_unavailable:
      'the store is unavailable; the mandate may or may not have been created: a retry with the same Idempotency-Key creates it at most once',
    not_found: 'the agent does not exist in the account and environment of the key',
    agent_revoked: 'the agent of the mandate is revoked',
  },
})

/** The page and the filter of a list of mandates. */
const MandatesQuery = Type.Object({ ...pageParameters, metadata: Type.Optional(MetadataFilter) })

export const listMandates = endpoint({
  id: 'listMandates',
  method: 'GET',
  path: '/mandates',
  tag: 'Mandates',
  summary: 'Lists mandates, newest first.',
  roles: [...readerRoles, 'agent'],
  query: MandatesQuery,
  responses: { 200: PageOf(Mandate) },
  responseDescriptions: { 200: "A page of mandates. An agent's key sees only those of its own agent." },
  errors: [],
})

export const getMandate = endpoint({
  id: 'getMandate',
  method: 'GET',
  path: '/mandates/{mandate_id}',
  tag: 'Mandates',
  summary: 'One mandate, with the usage of its limits.',
  roles: [...readerRoles, 'agent'],
  params: MandateParams,
  responses: { 200: Mandate },
  responseDescriptions: { 200: 'The mandate.' },
  errors: ['not_found'],
})

export const amendMandate = endpoint({
  id: 'amendMandate',
  method: 'PATCH',
  path: '/v1/mandates/{mandate_id}',
  tag: 'Mandates',
  summary:
    'Changes the terms of a mandate at once; requires `If-Match` with its version. An owner, an approver or the agent itself may narrow the terms; only an owner may widen them.',
  roles: [...readerRoles, 'agent'],
  params: MandateParams,
  body: MandateAmendment,
  responses: { 200: Mandate, 409: BelowCommitted },
  responseDescriptions: {
    200: 'The mandate with its new terms. If its terms already were as requested, and no open proofs had to end, nothing has changed.',
    409: 'The budget cannot be cut so far: the answer has the figures.',
  },
  errors: [
    'if_match_required',
    'not_found',
    'budget_not_found',
    'mandate_revoked',
    'version_mismatch',
    'widening_needs_owner',
    'budget_below_committed',
    'history_too_long',
  ],
  errorDescriptions: { mandate_revoked: 'the mandate is revoked' },
})

export const listMandateVersions = endpoint({
  id: 'listMandateVersions',
  method: 'GET',
  path: '/v1/mandates/{mandate_id}/versions',
  tag: 'Mandates',
  summary: 'Lists the versions of the terms of a mandate, newest first.',
  roles: [...readerRoles, 'agent'],
  params: MandateParams,
  query: PageQuery,
  responses: { 200: PageOf(MandateVersion) },
  responseDescriptions: { 200: 'A page of versions; the first one is the current one.' },
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
    responseDescriptions: { 200: `The mandate is ${to}, by this request or an earlier one.` },
    errors: ['not_found', ...errors],
  } satisfies Endpoint<never, never, typeof MandateParams>)
}
