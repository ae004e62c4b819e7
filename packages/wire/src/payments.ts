import { Type, type Static } from 'typebox'

import { ownerRoles } from './roles.ts'
import { endpoint } from './endpoint.ts'
import {
  AmountText,
  described,
  Domain,
  HttpUrl,
  Id,
  Nullable,
  OneOf,
  PaymentAmount,
  ReasonDetail,
  Text,
  Timestamp,
  Usdc,
  UsdcByDefault,
} from './fields.ts'
import { DenialCode } from './policy.ts'
import { maxLengths } from './lengths.ts'

/** The values that `scheme` and `network` have in the sandbox (Payment proof object). */
export const sandboxScheme = 'svc-sandbox'
export const sandboxNetwork = 'sandbox'

/** Verification failure reasons, in the order of the steps that give them (Errors). */
export const verificationFailures = [
  'proof_expired',
  'amount_mismatch',
  'invalid_signature',
  'nonce_reused',
] as const
export type VerificationFailure = (typeof verificationFailures)[number]
export const VerificationFailure = OneOf(verificationFailures)

/** Payment proof object. Whatever else it carries is signed too, so it is kept. */
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
    agentId: described(Id, 'Agent that asked for the proof.'),
    mandateId: described(Id, 'Mandate that is charged.'),
    amount: described(AmountText, 'Amount to be paid in USDC, as decimal text; compared as text.'),
    currency: Text(maxLengths.word, {
      description: 'Currency of the amount; compared as text.',
      examples: ['USDC'],
    }),
    resource: described(HttpUrl, 'Address of what is bought.'),
    nonce: Type.String({
      format: 'uuid',
      maxLength: maxLengths.uuid,
      description: 'UUID of the proof: a proof is charged once, and looked up by it.',
    }),
    timestamp: described(
      Timestamp,
      'When the proof was issued: time with its zone (RFC 3339). It can be verified for five minutes.',
    ),
    signature: Text(maxLengths.signature, {
      description: 'HMAC-SHA256 over the other fields, in hexadecimal.',
    }),
  },
  { additionalProperties: true },
)
export type Proof = Static<typeof Proof>

export const ProofRequest = Type.Object({
  agent_id: described(Id, 'Agent that pays.'),
  mandate_id: described(Id, 'Mandate that it pays under.'),
  amount: PaymentAmount,
  currency: UsdcByDefault,
  resource_url: described(HttpUrl, 'Address of what is bought; its host decides who may collect.'),
})

export const ProofDenial = Type.Object({
  decision: Type.Literal('denied', { description: 'Always `denied`.' }),
  reason_code: described(DenialCode, 'The first check that failed.'),
  reason_detail: ReasonDetail,
  agent_id: described(Id, 'Agent of the request.'),
  mandate_id: described(Id, 'Mandate of the request.'),
})

const issuedProof = Type.Object(
  { proof: described(Proof, 'The proof, to be passed on to the seller unmodified.') },
  { title: 'IssuedProof' },
)

export const issueProof = endpoint({
  id: 'issueProof',
  method: 'POST',
  path: '/v1/payments/proof',
  tag: 'Payments',
  summary: 'Generates a signed proof and holds its amount (sandbox only).',
  roles: [...ownerRoles, 'agent'],
  body: ProofRequest,
  responses: { 201: issuedProof, 402: ProofDenial },
  responseDescriptions: {
    201: 'The proof was issued, and its amount is held.',
    402: 'A check failed, and nothing is held: `reason_code` says which, `reason_detail` what would help.',
  },
  errors: ['production_payments_not_supported', 'invalid_idempotency_key', 'idempotency_key_reused'],
})

export const VerifyRequest = Type.Object({
  proof: described(Proof, 'The whole proof, as it was issued.'),
  merchant_domain: described(Domain, 'Host name under which the seller collects.'),
  expected_amount: described(
    AmountText,
    "Price in USDC, as decimal text; must be the proof's `amount`, compared as text.",
  ),
  expected_currency: Type.Optional(
    Text(maxLengths.word, {
      default: 'USDC',
      description: "Currency of the price; must be the proof's `currency`, compared as text.",
    }),
  ),
})

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
  summary: 'Verifies a proof and records the charge, once.',
  roles: [...ownerRoles, 'merchant'],
  body: VerifyRequest,
  responses: { 200: Verified, 402: NotVerified },
  responseDescriptions: {
    200: 'The proof is valid and its amount is charged, now or by the first request with this `Idempotency-Key`.',
    402: 'The proof was not accepted, and this request charged nothing: `reason` says why.',
  },
  errors: ['invalid_idempotency_key', 'seller_not_yours', 'merchant_not_allowed', 'merchant_not_payee'],
  errorDescriptions: {
    store_unavailable:
      'the store cannot answer now; nothing was charged unless a retry with the same Idempotency-Key says so',
  },
})

/** What has become of a proof. */
export const proofStatuses = ['open', 'captured', 'expired', 'voided'] as const
export type ProofStatus = (typeof proofStatuses)[number]
export const ProofStatus = OneOf(proofStatuses)

export const ProofRecord = Type.Object({
  nonce: Text(maxLengths.uuid, { description: 'UUID of the proof.' }),
  status: described(
    ProofStatus,
    'What has become of the proof: only an `open` one can be charged, and only a `captured` one was.',
  ),
  agent_id: described(Id, 'Agent that asked for the proof.'),
  mandate_id: described(Id, 'Mandate that it draws from.'),
  amount: described(AmountText, 'Amount of the proof in USDC, as decimal text.'),
  currency: Usdc,
  resource: Text(maxLengths.url, { description: 'Address of what is bought.' }),
  issued_at: described(Timestamp, 'When the proof was issued.'),
  expires_at: described(Timestamp, 'When its hold ends unless it is charged before.'),
  transaction_id: described(
    Nullable(Id),
    'Transaction that records the charge; null while, or because, there is none.',
  ),
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
  summary: 'What has become of a proof, for a caller whose reply was lost.',
  roles: [...ownerRoles, 'agent', 'merchant'],
  params: proofParams,
  responses: { 200: ProofRecord },
  responseDescriptions: { 200: 'What has become of the proof.' },
  errors: ['not_found'],
})

export const voidProof = endpoint({
  id: 'voidProof',
  method: 'POST',
  path: '/v1/payments/proofs/{nonce}/void',
  tag: 'Payments',
  summary:
    'Voids an open proof: its amount is free at once, and it can no longer be charged. A proof that has been voided or has expired is answered as it is.',
  roles: [...ownerRoles, 'agent'],
  params: proofParams,
  responses: { 200: ProofRecord },
  responseDescriptions: { 200: 'The proof, which is voided now, or had been voided or had expired before.' },
  errors: ['not_found', 'proof_captured'],
})
