import { Type, type Static } from './schema/type.ts'

import { endpoint } from './endpoint.ts'
import {
  Amount,
  AmountText,
  described,
  Id,
  Nullable,
  OneOf,
  Text,
  Timestamp,
  noOtherFields,
} from './fields.ts'
import { maxItems, maxLengths } from './lengths.ts'
import { Limits, NewLimits } from './limits/limits.ts'
import { PageOf, pageParameters } from './pages.ts'
import { ownerRoles, readerRoles } from './roles.ts'

/** `payment`: a proof that a person must approve. `increase`: wider terms that an agent requests. */
export const approvalKinds = ['payment', 'increase'] as const
export type ApprovalKind = (typeof approvalKinds)[number]
export const ApprovalKind = OneOf(approvalKinds)

export const approvalStatuses = ['pending', 'approved', 'denied', 'expired', 'consumed'] as const
export type ApprovalStatus = (typeof approvalStatuses)[number]
export const ApprovalStatus = OneOf(approvalStatuses)

/** Why approval is needed. */
export const approvalReasons = ['above', 'first_purchase_at_seller', 'limit', 'increase'] as const
export type ApprovalReason = (typeof approvalReasons)[number]
export const ApprovalReason = OneOf(approvalReasons)

/** A person's decision. */
export const approvalVerdicts = ['approved', 'denied'] as const
export type ApprovalVerdict = (typeof approvalVerdicts)[number]
export const ApprovalVerdict = OneOf(approvalVerdicts)

const Url = Text(maxLengths.url, {
  description: 'Page of the console on which a person decides.',
  examples: ['https://purser.example.com/console/approvals/approval_01jd0000000000000000000000'],
})

/** The approval in a refusal of a proof. */
export const ApprovalReference = Type.Object({
  id: described(
    Id,
    'Id of the approval: request the proof again with it in `approval_id` once it is approved.',
  ),
  status: described(ApprovalStatus, 'Whether it still waits for a decision, and how it was decided.'),
  expires_at: described(Timestamp, 'Until when it can be decided; once approved, until when it can be used.'),
  url: Url,
})
export type ApprovalReference = Static<typeof ApprovalReference>

/** The terms that an agent can ask to widen, except its limits over time. */
const increasedTerms = {
  max_spend_total: Type.Optional(described(Amount, 'Requested total budget in USDC, as decimal text.')),
  max_spend_per_transaction: Type.Optional(
    described(Amount, 'Requested max amount of one payment in USDC, as decimal text.'),
  ),
  expires_at: Type.Optional(
    described(Timestamp, 'Requested expiry of the mandate, as a time with a time zone (RFC 3339).'),
  ),
}

/** The terms that take effect once an increase is approved. */
export const IncreasedTerms = Type.Object({
  ...increasedTerms,
  limits: Type.Optional(
    described(Limits, 'Requested limits over time, all of them. Those that the mandate has keep their ids.'),
  ),
})
export type IncreasedTerms = Static<typeof IncreasedTerms>

/** A request for wider terms. */
export const IncreaseRequest = Type.Object(
  {
    ...increasedTerms,
    limits: Type.Optional(
      described(
        NewLimits,
        'Requested limits over time, all of them: one that is left out is removed. At least one must allow more than now, unless another term does.',
      ),
    ),
    reason: Text(maxLengths.approvalMessage, {
      description: 'Why more is needed, as free text for the person who decides.',
      examples: ['The last three reports cost 12.00 each.'],
    }),
  },
  noOtherFields,
)
export type IncreaseRequest = Static<typeof IncreaseRequest>

export const ApprovalRequest = Type.Object({
  id: described(Id, 'Id of the approval.'),
  kind: described(
    ApprovalKind,
    '`payment`: a proof that a person must approve. `increase`: wider terms of a mandate.',
  ),
  status: described(
    ApprovalStatus,
    '`pending` until it is decided, `consumed` once it was used, `expired` if neither was done in time.',
  ),
  agent_id: described(Id, 'Agent that asks.'),
  mandate_id: described(Id, 'Mandate that it pays from.'),
  amount: described(
    Nullable(AmountText),
    'Amount of the payment in USDC, as decimal text: a proof of up to this amount is approved. Null for an increase.',
  ),
  resource_url: described(
    Nullable(Text(maxLengths.url)),
    'URL of the purchased resource, the only one that is approved; null for an increase.',
  ),
  reason: Type.Object(
    {
      code: described(
        ApprovalReason,
        '`above`: the amount is above the threshold for approval. `first_purchase_at_seller`: nothing was bought there before. `limit`: a limit over time is exceeded. `increase`: the agent asks for wider terms.',
      ),
      limit_id: described(Nullable(Id), 'The limit that is exceeded; null for other reasons.'),
      message: described(
        Nullable(Text(maxLengths.approvalMessage)),
        'Why the agent asks for an increase, in its own words; null for a payment.',
      ),
    },
    { title: 'ReasonToAsk', description: 'Why a person is asked.' },
  ),
  change: described(
    Nullable(IncreasedTerms),
    'The terms that take effect once an increase is approved; null for a payment.',
  ),
  mandate_version: Type.Integer({
    minimum: 1,
    description: 'Number of the version of the mandate when it was requested.',
  }),
  requested_by: described(Id, 'Key or session that made the request.'),
  requested_at: described(Timestamp, 'When it was requested.'),
  expires_at: described(Timestamp, 'Until when it can be decided; once approved, until when it can be used.'),
  required: Type.Integer({
    minimum: 1,
    maximum: 2,
    description: 'Number of different people who must approve it.',
  }),
  decisions: Type.Array(
    Type.Object(
      {
        actor: Text(maxLengths.id, { description: 'Id of the key or session that decided.' }),
        decision: described(ApprovalVerdict, 'What was decided.'),
        note: described(
          Nullable(Text(maxLengths.approvalMessage)),
          'What was noted with the decision; null if nothing was.',
        ),
        at: described(Timestamp, 'When it was decided.'),
      },
      { title: 'ApprovalDecision' },
    ),
    { maxItems: maxItems.approvalDecisions, description: 'What was decided so far, oldest first.' },
  ),
  nonce: described(
    Nullable(Text(maxLengths.uuid)),
    'UUID of the proof that has used the approval; null if none has.',
  ),
  url: Url,
})
export type ApprovalRequest = Static<typeof ApprovalRequest>

const approvalParams = Type.Object({ approval_id: described(Id, 'Id of the approval.') })

export const listApprovals = endpoint({
  id: 'listApprovals',
  method: 'GET',
  path: '/v1/approvals',
  tag: 'Approvals',
  summary:
    'Lists approvals, newest first. A page may have fewer items than requested although `Link` has a next page.',
  roles: [...readerRoles, 'agent'],
  query: Type.Object({
    ...pageParameters,
    status: Type.Optional(described(ApprovalStatus, 'Only approvals with this status.')),
    mandate_id: Type.Optional(described(Id, 'Only approvals under this mandate.')),
  }),
  responses: { 200: PageOf(ApprovalRequest) },
  responseDescriptions: { 200: "A page of approvals. An agent's key sees only its own requests." },
  errors: [],
})

export const getApproval = endpoint({
  id: 'getApproval',
  method: 'GET',
  path: '/v1/approvals/{approval_id}',
  tag: 'Approvals',
  summary: 'One approval.',
  roles: [...readerRoles, 'agent'],
  params: approvalParams,
  responses: { 200: ApprovalRequest },
  responseDescriptions: { 200: 'The approval.' },
  errors: ['not_found'],
})

export const ApprovalNote = Type.Object({
  note: Type.Optional(
    described(
      Nullable(Text(maxLengths.approvalMessage)),
      'What to keep with the decision; null or omitted for nothing.',
    ),
  ),
})

export const approveRequest = endpoint({
  id: 'approveRequest',
  method: 'POST',
  path: '/v1/approvals/{approval_id}/approve',
  tag: 'Approvals',
  summary:
    'Approves a payment, or an increase, which takes effect at once. Only an owner can approve an increase, and no one can approve their own request.',
  roles: readerRoles,
  params: approvalParams,
  body: ApprovalNote,
  responses: { 200: ApprovalRequest },
  responseDescriptions: {
    200: 'The approval. If it needs a second person, it is still `pending`. Repeating a decision changes nothing.',
  },
  errors: [
    'not_found',
    'own_request',
    'widening_needs_owner',
    'approval_expired',
    'approval_decided',
    'mandate_revoked',
    'version_mismatch',
    'history_too_long',
  ],
  errorDescriptions: {
    widening_needs_owner: 'the approval is an increase, and the caller is not an owner',
    mandate_revoked: 'the mandate is revoked',
    version_mismatch: 'the mandate was amended after the increase was requested',
    history_too_long:
      'the increase adds a limit that would have to count more than 20,000 payments of its current period',
  },
})

export const denyRequest = endpoint({
  id: 'denyRequest',
  method: 'POST',
  path: '/v1/approvals/{approval_id}/deny',
  tag: 'Approvals',
  summary: 'Denies a payment or an increase. This also withdraws an unused approval.',
  roles: readerRoles,
  params: approvalParams,
  body: ApprovalNote,
  responses: { 200: ApprovalRequest },
  responseDescriptions: { 200: 'The approval is denied, by this request or an earlier one.' },
  errors: ['not_found', 'own_request', 'approval_expired', 'approval_decided'],
})

export const requestIncrease = endpoint({
  id: 'requestIncrease',
  method: 'POST',
  path: '/v1/mandates/{mandate_id}/increase-requests',
  tag: 'Approvals',
  summary:
    'Asks the owner for wider terms of a mandate. Nothing changes until an owner approves; the same request again returns the same approval.',
  roles: [...ownerRoles, 'agent'],
  params: Type.Object({ mandate_id: described(Id, 'Id of the mandate.') }),
  body: IncreaseRequest,
  responses: { 201: ApprovalRequest },
  responseDescriptions: { 201: 'The request, which waits for a decision.' },
  errors: ['not_found', 'mandate_revoked', 'agent_revoked', 'nothing_to_increase', 'too_many_approvals'],
  errorDescriptions: {
    mandate_revoked: 'the mandate is revoked',
    agent_revoked: 'the agent of the mandate is revoked',
  },
})
