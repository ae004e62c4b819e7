import { hash, hkdfSync, timingSafeEqual } from 'node:crypto'

import type { Environment } from '@purser/wire/fields'
import type { Proof, VerificationFailure } from '@purser/wire/payments'

import { canonicalJson } from './canonical-json.ts'

/** Max distance of a proof's timestamp from now, either way (Limits: 5 minutes). */
export const validityWindowMs = 5 * 60_000

/** How long a hold outlives the window, so that a proof that passes step 1 still finds its hold. */
export const holdGraceMs = 60_000

/** How long after it was issued a payment may be captured. */
export const maxProofLifeMs = validityWindowMs + holdGraceMs

/** A proof before it is signed. */
export type UnsignedProof = Omit<Proof, 'signature'>

/** The HMAC-SHA256 of a text's UTF-8 bytes, as lower-case hex. */
type Hmac = (text: string) => string

/** The keys of one environment: the first signs, all verify. */
export type ProofKeys = readonly [Hmac, ...Hmac[]]

/** The keys derived from the secrets for an environment; a key of one environment is useless in the other. */
export function deriveProofKeys(
  secrets: readonly [string, ...string[]],
  environment: Environment,
): ProofKeys {
  const derive = (secret: string): Hmac =>
    hmacUnder(Buffer.from(hkdfSync('sha256', secret, '', `purser/proof/${environment}`, 32)))
  const [first, ...others] = secrets
  return [derive(first), ...others.map(derive)]
}

const blockBytes = 64
const digestBytes = 32

/** HMAC-SHA256 (RFC 2104) as two one-shot hashes, which take two thirds of the time of `createHmac`. */
function hmacUnder(key: Buffer): Hmac {
  const padded = Buffer.concat([key, Buffer.alloc(blockBytes - key.length)])
  const inner = padded.map((byte) => byte ^ 0x36)
  const outer = Buffer.concat([padded.map((byte) => byte ^ 0x5c), Buffer.alloc(digestBytes)])
  return (text) => {
    outer.write(hash('sha256', Buffer.concat([inner, Buffer.from(text)]), 'binary'), blockBytes, 'latin1')
    return hash('sha256', outer, 'hex')
  }
}

/** The proof with its signature: HMAC-SHA256 over its canonical bytes, as lower-case hex. */
export function signProof(unsigned: UnsignedProof, keys: ProofKeys): Proof {
  return { ...unsigned, signature: keys[0](canonicalProof(unsigned) ?? unsignable()) }
}

/** The payment that the merchant expects. */
export interface Expectation {
  readonly amount: string
  readonly currency: string
}

/**
 * The first of the verification steps 1 to 3 that the proof fails, or undefined if it passes them (Endpoints,
 * `POST /v1/payments/verify`). The caller may skip step 1 to detect a retry of a proof that was captured in
 * time.
 */
export function checkProof(
  proof: Proof,
  expected: Expectation,
  keys: ProofKeys,
  nowMs: number,
): Exclude<VerificationFailure, 'nonce_reused'> | undefined {
  if (!isWithinWindow(proof, nowMs)) return 'proof_expired' // 1
  return checkProofContent(proof, expected, keys) // 2, 3
}

/** Steps 2 and 3: those that do not depend on the time. */
export function checkProofContent(
  proof: Proof,
  expected: Expectation,
  keys: ProofKeys,
): 'amount_mismatch' | 'invalid_signature' | undefined {
  if (proof.amount !== expected.amount || proof.currency !== expected.currency) return 'amount_mismatch' // 2
  if (!hasValidSignature(proof, keys)) return 'invalid_signature' // 3
  return undefined
}

function isWithinWindow(proof: Proof, nowMs: number): boolean {
  const ageMs = Math.abs(nowMs - Date.parse(proof.timestamp))
  return ageMs <= validityWindowMs // also false for NaN
}

function hasValidSignature(proof: Proof, keys: ProofKeys): boolean {
  const text = canonicalProof(proof)
  return text !== undefined && keys.some((hmac) => equalInConstantTime(proof.signature, hmac(text)))
}

/**
 * The canonical JSON of a proof without its signature: the fields sorted by name, which is known except for
 * additional fields.
 */
function canonicalProof(proof: UnsignedProof | Proof): string | undefined {
  const { agentId, amount, currency, mandateId, network, nonce, resource, scheme, timestamp } = proof
  const usual = { agentId, amount, currency, mandateId, network, nonce, resource, scheme, timestamp }
  const values = Object.values(usual)
  const count = 'signature' in proof ? values.length + 1 : values.length
  const isUsual = Object.keys(proof).length === count && values.every((value) => typeof value === 'string')
  if (isUsual) return JSON.stringify(usual)
  const { signature: _, ...unsigned } = proof as Proof
  return canonicalJson(unsigned)
}

/** Whether two texts are equal, in a time that does not tell where they differ. */
export function equalInConstantTime(left: string, right: string): boolean {
  const leftBytes = Buffer.from(left)
  const rightBytes = Buffer.from(right)
  return leftBytes.length === rightBytes.length && timingSafeEqual(leftBytes, rightBytes)
}

function unsignable(): never {
  throw new TypeError('a proof holds only flat JSON values')
}
