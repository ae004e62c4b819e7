/** A proof as far as a merchant looks into it; all its fields go to the service as they came. */
export interface ShownProof {
  readonly agentId: string
  readonly mandateId: string
  readonly amount: string
  readonly currency: string
  readonly resource: string
  readonly nonce: string
  readonly signature: string
}

export type ProofReading =
  { readonly proof: ShownProof } | { readonly fault: 'malformed_proof' | 'proof_too_large' }

/**
 * Four times the longest proof of ordinary use; Node itself refuses more than 16 KiB of headers.
 * A resource has at most 2,083 characters, which is 2,780 in base64url.
 */
export const maxProofHeaderLength = 8192

/**
 * Reads an `X-Payment-Proof`: base64url of JSON, or the JSON itself. Two headers of that name arrive joined
 * by a comma, and so are neither.
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

const fields = ['agentId', 'mandateId', 'amount', 'currency', 'resource', 'nonce', 'signature'] as const

function isProof(value: unknown): value is ShownProof {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const proof = value as Record<string, unknown>
  if (!fields.every((field) => typeof proof[field] === 'string')) return false
  // Proofs are remembered by these two, so they have the lengths of a UUID and of hex with room to spare.
  return String(proof['nonce']).length <= 64 && String(proof['signature']).length <= 128
}

function decode(text: string): string {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0))
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}
