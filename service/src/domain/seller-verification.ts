import { createHmac, hkdfSync } from 'node:crypto'

import type { Scope } from './records.ts'

/** Where a seller puts the proof that a domain is its own, and what it puts there. */
export interface DomainChallenge {
  /** The name of the DNS TXT record. */
  readonly recordName: string
  /** The address of the file that does instead of the record. */
  readonly fileUrl: string
  /** The text of the record, and of a line of the file. */
  readonly text: string
}

/** The key that challenges are made with, from what the service signs its proofs with: no secret of its own to keep. */
export function deriveVerificationKey(proofSecret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', proofSecret, '', 'purser seller verification', 32))
}

/** The challenge of an account for a domain. It is always the same, so nothing of it is stored. */
export function challengeFor(
  key: Buffer,
  { accountId, environment }: Scope,
  domain: string,
): DomainChallenge {
  const token = createHmac('sha256', key)
    .update(JSON.stringify([environment, accountId, domain]))
    .digest('base64url')
  return {
    recordName: `_purser-challenge.${domain}`,
    fileUrl: `https://${domain}/.well-known/purser-verification`,
    text: `purser-verification=${token}`,
  }
}
