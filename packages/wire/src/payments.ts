import { Type, type Static } from './schema/type.ts'

import { ownerRoles, readerRoles } from './roles.ts'
import { endpoint } from './endpoint.ts'
import {
  AmountText,
  Category,
  described,
  Domain,
  HttpUrl,
  Id,
  Metadata,
  Nullable,
  OneOf,
  PaymentAmount,
  ReasonDetail,
  Text,
  Timestamp,
  Usdc,
  UsdcByDefault,
} from './fields.ts'
import { ApprovalReference } from './approvals.ts'
import { refusalDetails } from './limits/limits.ts'
import { DenialCode } from './policy.ts'
import { maxLengths } from './lengths.ts'

/** The values of `scheme` and `network` in the sandbox (Payment proof object). */
export const sandboxScheme = 'svc-sandbox'
export const sandboxNetwork = 'sandbox'

/** Verification failure reasons, in the order of the steps that return them (Errors). */
export const verificationFailures = [
  'proof_expired',
  'amount_mismatch',
  'invalid_signature',
  'nonce_reused',
] as const
export type VerificationFailure = (typeof verificationFailures)[number]
export const VerificationFailure = OneOf(verificationFailures)

/** Payment proof object. Unknown fields are kept, because they are signed too. */
export const Proof = Type.Object(
  {
    scheme: Text(maxLengths.word, {
      description: 'Payment scheme; `svc-sandbox` in the sandbox.',
      examples: [sandboxScheme],
    }),
    network: Text(maxLengths.word, {
      description: 'Network of the scheme; `sandbox` in the sandbox.',
      examples: [sandboxNetwork],
    }),
    agentId: described(Id, 'Agent that requested the proof.'),
    mandateId: described(Id, 'Mandate that is charged.'),
    amount: described(AmountText, 'Payment amount in USDC, as decimal text; compared as text.'),
    currency: Text(maxLengths.word, {
      description: 'Currency of the amount; compared as text.',
      examples: ['USDC'],
    }),
    resource: described(HttpUrl, 'URL of the purchased resource.'),
    nonce: Type.String({
      format: 'uuid',
      maxLength: maxLengths.uuid,
      description: 'UUID of the proof. Use it to look up the proof, which is charged at most once.',
    }),
    timestamp: described(
      Timestamp,
      'When the proof was issued, as a time with a time zone (RFC 3339). It can be verified for five minutes.',
    ),
    signature: Text(maxLengths.signature, {
      description: 'HMAC-SHA256 over the other fields, in hexadecimal.',
    }),
  },
  { additionalProperties: true },
)
export type Proof = Static<typeof Proof>

/** The id of an order, chosen by the buyer. */
export const OrderId = Type.String({
  minLength: 1,
  maxLength: maxLengths.orderId,
  description: 'Id of an order.',
  examples: ['order-1001'],
})

export const ProofRequest = Type.Object({
  agent_id: described(Id, 'Agent that pays.'),
  mandate_id: described(Id, 'Mandate that it pays from.'),
  amount: PaymentAmount,
  currency: UsdcByDefault,
  resource_url: described(
    HttpUrl,
    'URL of the purchased resource, compared with `allowed_resources`; its host determines who may collect.',
  ),
  category: Type.Optional(
    described(
      Nullable(Category),
      'Category of the payment; null or omitted for none. With `category_check: enforced` it must be in `allowed_categories`.',
    ),
  ),
  metadata: Type.Optional(described(Metadata, 'Your own texts for the transaction of the payment, by name.')),
  order_id: Type.Optional(
    described(
      Nullable(OrderId),
      'Your id of the order, which is paid once under the mandate; null or omitted for none. The same order gets the same proof until it is paid.',
    ),
  ),
  approval_id: Type.Optional(
    described(
      Nullable(Text(maxLengths.id)),
      'The approval that a person has given, from the `approval` of an earlier refusal; it is used up. Null or omitted for none.',
    ),
  ),
})

export const ProofDenial = Type.Object({
  decision: Type.Literal('denied', { description: 'Always `denied`.' }),
  reason_code: described(DenialCode, 'The first check that failed.'),
  reason_detail: ReasonDetail,
  agent_id: described(Id, 'Agent of the request.'),
  mandate_id: described(Id, 'Mandate of the request.'),
  approval: Type.Optional(
    described(
      ApprovalReference,
      'The approval to wait for or to use, if `reason_code` is `approval_required`.',
    ),
  ),
  ...refusalDetails,
})

const issuedProof = Type.Object(
  { proof: described(Proof, 'The proof. Pass it to the seller unmodified.') },
  { title: 'IssuedProof' },
)

export const issueProof = endpoint({
  id: 'issueProof',
  method: 'POST',
  path: '/v1/payments/proof',
  tag: 'Payments',
  summary: 'Issues a signed proof and holds its amount (sandbox only).',
  roles: [...ownerRoles, 'agent'],
  body: ProofRequest,
  responses: { 201: issuedProof, 402: ProofDenial },
  responseDescriptions: {
    201: 'The proof was issued, and its amount is held.',
    402: 'A check failed, and nothing is held: `reason_code` is the check, `reason_detail` says what would help.',
  },
  errors: [
    'production_payments_not_supported',
    'invalid_idempotency_key',
    'idempotency_key_reused',
    'order_already_paid',
    'order_mismatch',
  ],
})

export const VerifyRequest = Type.Object({
  proof: described(Proof, 'The complete proof, as issued.'),
  merchant_domain: described(Domain, 'Domain under which the seller collects.'),
  expected_amount: described(
    AmountText,
    "Price in USDC, as decimal text; must equal the proof's `amount`, compared as text.",
  ),
  expected_currency: Type.Optional(
    Text(maxLengths.word, {
      default: 'USDC',
      description: "Currency of the price; must equal the proof's `currency`, compared as text.",
    }),
  ),
  category: Type.Optional(
    described(
      Nullable(Category),
      "Category of the sale; if it is given, it must equal the proof's. Null or omitted to accept any.",
    ),
  ),
})
export type VerifyRequest = Static<typeof VerifyRequest>

export const Verified = Type.Object({
  verified: Type.Literal(true, { description: 'Always `true`: the charge is recorded.' }),
  transaction_id: described(Id, 'Transaction that records the charge.'),
})
export const NotVerified = Type.Object({
  verified: Type.Literal(false, { description: 'Always `false`: this request charged nothing.' }),
  reason: described(VerificationFailure, 'The first step that failed.'),
})

export const verify = endpoint({
  id: 'verify',
  method: 'POST',
  path: '/v1/payments/verify',
  tag: 'Payments',
  summary: 'Verifies a proof and charges it, at most once.',
  roles: [...ownerRoles, 'merchant'],
  body: VerifyRequest,
  responses: { 200: Verified, 402: NotVerified },
  responseDescriptions: {
    200: 'The proof is valid and was charged, now or by the first request with this `Idempotency-Key`.',
    402: 'The proof was refused, and this request charged nothing: `reason` says why.',
  },
  errors: [
    'invalid_idempotency_key',
    'seller_not_yours',
    'merchant_not_allowed',
    'merchant_not_payee',
    'resource_not_allowed',
    'category_mismatch',
  ],
  errorDescriptions: {
    store_unavailable:
      'the store is unavailable; nothing was charged unless a retry with the same Idempotency-Key says so',
  },
})

/** The state of a proof. */
export const proofStatuses = ['open', 'authorized', 'captured', 'expired', 'voided'] as const
export type ProofStatus = (typeof proofStatuses)[number]
export const ProofStatus = OneOf(proofStatuses)

export const ProofRecord = Type.Object({
  nonce: Text(maxLengths.uuid, { description: 'UUID of the proof.' }),
  status: described(
    ProofStatus,
    'State of the proof: an `open` one holds its amount, for a minute longer than the five in which it can be charged or authorized, an `authorized` one waits for its merchant to capture it, and only a `captured` one was charged.',
  ),
  agent_id: described(Id, 'Agent that requested the proof.'),
  mandate_id: described(Id, 'Mandate that it pays from.'),
  amount: described(AmountText, 'Amount of the proof in USDC, as decimal text.'),
  currency: Usdc,
  resource: Text(maxLengths.url, { description: 'URL of the purchased resource.' }),
  issued_at: described(Timestamp, 'When the proof was issued.'),
  expires_at: described(Timestamp, 'When its hold ends, unless it is charged or authorized before.'),
  capture_deadline: described(
    Nullable(Timestamp),
    'When its authorization ends, unless it is captured or voided before; null if it was never authorized.',
  ),
  transaction_id: described(Nullable(Id), 'Transaction that records the charge; null if there is none.'),
  captured_amount: described(
    Nullable(AmountText),
    'What was charged in USDC, less than `amount` if the merchant captured a part; null if nothing was charged.',
  ),
  order_id: described(Nullable(Text(maxLengths.orderId)), 'Order that it pays; null for none.'),
})
export type ProofRecord = Static<typeof ProofRecord>

const proofParams = Type.Object({
  nonce: Text(maxLengths.uuid, { description: 'The `nonce` of the proof, a UUID.' }),
})

export const getProof = endpoint({
  id: 'getProof',
  method: 'GET',
  path: '/v1/payments/proofs/{nonce}',
  tag: 'Payments',
  summary: 'Returns the state of a proof, for example after a lost response.',
  roles: [...readerRoles, 'agent', 'merchant'],
  params: proofParams,
  responses: { 200: ProofRecord },
  responseDescriptions: { 200: 'The state of the proof.' },
  errors: ['not_found'],
})

export const voidProof = endpoint({
  id: 'voidProof',
  method: 'POST',
  path: '/v1/payments/proofs/{nonce}/void',
  tag: 'Payments',
  summary:
    'Voids an open proof: its amount is released at once, and it can no longer be charged. A proof that is already voided or expired is returned unchanged.',
  roles: [...ownerRoles, 'agent'],
  params: proofParams,
  responses: { 200: ProofRecord },
  responseDescriptions: { 200: 'The proof is voided now, or was already voided or expired.' },
  errors: ['not_found', 'proof_captured', 'proof_authorized'],
})
