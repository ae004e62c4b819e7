import type { Proof } from '@purser/client'

export type ProofReading =
  | { readonly proof: Proof }
  | { readonly fault: 'malformed_proof' | 'proof_too_large' }

/**
 * Four times the longest ordinary proof; Node itself refuses headers over 16 KiB. A resource has at most 2,083
 * characters, or 2,780 in base64url.
 */
const maxProofHeaderLength = 8192

/**
 * Reads an `X-Payment-Proof` header: base64url of JSON, or plain JSON. Duplicate headers arrive joined by a comma,
 * and are neither.
 */
export function readProofHeader(header: string): ProofReading {
  if (header.length > maxProofHeaderLength) return { fault: 'proof_too_large' }
  try {
    const proof: unknown = JSON.parse(header.trimStart().startsWith('{') ? header : decode(header))
    if (isProof(proof)) return { proof }
  } catch {
    // Neither base64url nor JSON.
  }
  return { fault: 'malformed_proof' }
}

const fields: readonly (keyof Proof)[] = [
  'scheme',
  'network',
  'agentId',
  'mandateId',
  'amount',
  'currency',
  'resource',
  'nonce',
  'timestamp',
  'signature',
]

function isProof(value: unknown): value is Proof {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const proof = value as Record<string, unknown>
  if (!fields.every((field) => typeof proof[field] === 'string')) return false
  // Additional fields are signed too, but a proof has no nested values: the service does not parse unlimited depth.
  if (Object.values(proof).some((field) => typeof field === 'object' && field !== null)) return false
  // Deliveries are stored by these two, so their length is limited: a UUID and a hex signature, with some margin.
  return String(proof['nonce']).length <= 64 && String(proof['signature']).length <= 128
}

function decode(text: string): string {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index)
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}
