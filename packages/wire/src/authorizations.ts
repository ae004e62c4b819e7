import { Type, type Static } from './schema/type.ts'

import { endpoint } from './endpoint.ts'
import { AmountText, described, PaymentAmount, Text, Timestamp, noOtherFields } from './fields.ts'
import { maxLengths } from './lengths.ts'
import { CaptureSeconds } from './mandates.ts'
import { NotVerified, ProofStatus, Verified, VerifyRequest } from './payments.ts'
import { ownerRoles } from './roles.ts'

export const AuthorizeRequest = Type.Object(
  {
    ...VerifyRequest.properties,
    capture_seconds: Type.Optional(
      described(
        CaptureSeconds,
        'Time in seconds until the capture deadline, 600 by default; at most what the mandate allows.',
      ),
    ),
  },
  noOtherFields,
)

export const Authorization = Type.Object({
  nonce: Text(maxLengths.uuid, { description: 'UUID of the proof. Use it to capture or void the payment.' }),
  amount: described(AmountText, 'Authorized amount in USDC, as decimal text: the most that can be captured.'),
  capture_deadline: described(
    Timestamp,
    'When the authorization ends, unless it is captured or voided before.',
  ),
  capture_seconds_left: Type.Integer({
    minimum: 0,
    description:
      'Whole seconds from this answer until `capture_deadline`, by the clock of the service; 0 once it has passed.',
  }),
  status: described(ProofStatus, 'State of the payment; only an `authorized` one can be captured.'),
})
export type Authorization = Static<typeof Authorization>

export const Authorized = Type.Object({
  authorized: Type.Literal(true, {
    description: 'Always `true`: the amount is reserved until the deadline.',
  }),
  authorization: described(Authorization, 'The authorization. Nothing has been charged yet.'),
})
export const NotAuthorized = Type.Object({
  authorized: Type.Literal(false, { description: 'Always `false`: nothing was authorized or charged.' }),
  reason: NotVerified.properties.reason,
})

const ofMerchant = [...ownerRoles, 'merchant'] as const

export const authorize = endpoint({
  id: 'authorize',
  method: 'POST',
  path: '/v1/payments/authorize',
  tag: 'Payments',
  summary: 'Verifies a proof and reserves its amount without charging it, for a capture before a deadline.',
  roles: ofMerchant,
  body: AuthorizeRequest,
  responses: { 200: Authorized, 402: NotAuthorized },
  responseDescriptions: {
    200: 'The proof is valid and its amount is reserved, now or by the first request with this `Idempotency-Key`. After a retry, check `status`: the authorization may have been voided or have expired since.',
    402: 'The proof was refused, and nothing is reserved: `reason` says why.',
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
      'the store is unavailable; nothing was authorized unless a retry with the same Idempotency-Key says so',
  },
})

const authorizedParams = Type.Object({
  nonce: Text(maxLengths.uuid, { description: 'The `nonce` of the authorization, a UUID.' }),
})

export const CaptureRequest = Type.Object(
  {
    amount: Type.Optional(
      described(
        PaymentAmount,
        'Amount to charge in USDC, as decimal text: at most the authorized amount, which is the default. The rest is released at once.',
      ),
    ),
  },
  noOtherFields,
)

export const Captured = Type.Object({
  ...Verified.properties,
  amount: described(AmountText, 'Charged amount in USDC, as decimal text.'),
})

export const capture = endpoint({
  id: 'capture',
  method: 'POST',
  path: '/v1/payments/{nonce}/capture',
  tag: 'Payments',
  summary: 'Charges an authorized payment, once, in full or in part.',
  roles: ofMerchant,
  params: authorizedParams,
  body: CaptureRequest,
  responses: { 200: Captured },
  responseDescriptions: {
    200: 'The payment was charged, now or by the first request with this `Idempotency-Key`.',
  },
  errors: [
    'invalid_idempotency_key',
    'not_found',
    'already_captured',
    'authorization_voided',
    'authorization_expired',
    'amount_exceeds_authorization',
  ],
  errorDescriptions: {
    not_found: "no payment with that nonce was authorized by the key's account",
    store_unavailable:
      'the store is unavailable; nothing was charged unless a retry with the same Idempotency-Key says so',
  },
})

export const voidAuthorization = endpoint({
  id: 'voidAuthorization',
  method: 'POST',
  path: '/v1/payments/{nonce}/void',
  tag: 'Payments',
  summary:
    'Voids an authorized payment: its amount is released at once, and it can no longer be charged. A payment that is already voided or expired is returned unchanged.',
  roles: ofMerchant,
  params: authorizedParams,
  responses: { 200: Authorization },
  responseDescriptions: { 200: 'The authorization is voided now, or was already voided or expired.' },
  errors: ['not_found', 'already_captured'],
  errorDescriptions: {
    not_found: "no payment with that nonce was authorized by the key's account",
  },
})
