import { Type, type Static } from 'typebox'

import { ownerRoles } from './api-keys.ts'
import { endpoint } from './endpoint.ts'
import {
  AmountText,
  HttpUrl,
  Id,
  Nullable,
  OneOf,
  PaymentAmount,
  Timestamp,
  Usdc,
  UsdcByDefault,
} from './fields.ts'
import { denialCodes } from './policy.ts'

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

/** Payment proof object. Whatever else it carries is signed too, so it is kept. */
export const Proof = Type.Object(
  {
    scheme: Type.String({ examples: [sandboxScheme] }),
    network: Type.String({ examples: [sandboxNetwork] }),
    agentId: Type.String(),
    mandateId: Type.String(),
    amount: AmountText,
    currency: Type.String({ examples: ['USDC'] }),
    resource: HttpUrl,
    nonce: Type.String({ format: 'uuid' }),
    timestamp: Timestamp,
    signature: Type.String(),
  },
  { additionalProperties: true },
)
export type Proof = Static<typeof Proof>

export const ProofRequest = Type.Object({
  agent_id: Type.String(),
  mandate_id: Type.String(),
  amount: PaymentAmount,
  currency: UsdcByDefault,
  resource_url: HttpUrl,
})

export const ProofDenial = Type.Object({
  decision: Type.Literal('denied'),
  reason_code: OneOf(denialCodes),
  reason_detail: Type.String(),
  agent_id: Id,
  mandate_id: Id,
})

export const issueProof = endpoint({
  id: 'issueProof',
  method: 'POST',
  path: '/v1/payments/proof',
  tag: 'Payments',
  summary: 'Generates a signed proof and holds its amount (sandbox only).',
  roles: [...ownerRoles, 'agent'],
  body: ProofRequest,
  responses: { 201: Type.Object({ proof: Proof }), 402: ProofDenial },
  errors: ['production_payments_not_supported'],
})

export const VerifyRequest = Type.Object({
  proof: Proof,
  merchant_domain: Type.String({ examples: ['api.example.com'] }),
  expected_amount: AmountText,
  expected_currency: Type.Optional(Type.String({ default: 'USDC' })),
})

export const Verified = Type.Object({ verified: Type.Literal(true), transaction_id: Id })
export const NotVerified = Type.Object({
  verified: Type.Literal(false),
  reason: OneOf(verificationFailures),
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
  errors: ['invalid_idempotency_key', 'seller_not_yours', 'merchant_not_allowed', 'merchant_not_payee'],
})

/** What has become of a proof. */
export const proofStatuses = ['open', 'captured', 'expired', 'voided'] as const
export type ProofStatus = (typeof proofStatuses)[number]

export const ProofRecord = Type.Object({
  nonce: Type.String(),
  status: OneOf(proofStatuses),
  agent_id: Id,
  mandate_id: Id,
  amount: Type.String(),
  currency: Usdc,
  resource: Type.String(),
  issued_at: Timestamp,
  expires_at: Timestamp,
  transaction_id: Nullable(Id),
})
export type ProofRecord = Static<typeof ProofRecord>

export const getProof = endpoint({
  id: 'getProof',
  method: 'GET',
  path: '/v1/payments/proofs/{nonce}',
  tag: 'Payments',
  summary: 'What has become of a proof, for a caller whose reply was lost.',
  roles: [...ownerRoles, 'agent', 'merchant'],
  params: Type.Object({ nonce: Type.String() }),
  responses: { 200: ProofRecord },
  errors: ['not_found'],
})
