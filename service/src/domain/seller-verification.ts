import { createHmac, hkdfSync } from 'node:crypto'

import type { Scope } from './records.ts'

/** What a seller publishes to verify its domain, and where. */
export interface DomainChallenge {
  /** The name of the DNS TXT record. */
  readonly recordName: string
  /** The URL of the file that can be used instead of the record. */
  readonly fileUrl: string
  /** The text of the record, or of one line in the file. */
  readonly text: string
}

/** The key for challenges, derived from the proof secret, so that no other secret is needed. */
export function deriveVerificationKey(proofSecret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', proofSecret, '', 'purser seller verification', 32))
}

/** The challenge of an account for a domain. It is deterministic, so it is not stored. */
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
