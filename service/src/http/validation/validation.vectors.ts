import { accountVectors } from './vectors/accounts.ts'
import { bodyVectors } from './vectors/bodies.ts'
import { mandateVectors } from './vectors/mandates.ts'
import { paymentVectors } from './vectors/payments.ts'
import { policyVectors } from './vectors/policy.ts'
import { requestVectors } from './vectors/requests.ts'
import type { Vector } from './vectors/vector.ts'

export type { Vector } from './vectors/vector.ts'

/** Requests with the responses that clients expect, ordered by number. */
export const vectors: readonly Vector[] = [
  ...accountVectors,
  ...bodyVectors,
  ...mandateVectors,
  ...paymentVectors,
  ...policyVectors,
  ...requestVectors,
].sort((a, b) => a.id.localeCompare(b.id))
