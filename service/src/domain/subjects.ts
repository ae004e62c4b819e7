import { createHash } from 'node:crypto'

import { normalizeHostName } from './host-name.ts'
import type { LimitSubject } from './limits.ts'
import { normalizeResource } from './resource-patterns.ts'

/** Max characters of a subject. Longer ones are hashed, so that they fit into every index. */
const maxLength = 300

/**
 * The text under which a limit `per` seller or resource counts a payment: the host of its resource, or the
 * normalized URL of the resource without query and fragment, so that another spelling does not count separately.
 */
export function subjectOf(per: LimitSubject, resourceUrl: string): string {
  const url = URL.canParse(resourceUrl) ? new URL(resourceUrl) : undefined
  const text =
    per === 'seller' ? normalizeHostName(url?.hostname ?? '') : url ? normalizeResource(url) : resourceUrl
  return named(per, text)
}

/** The subject of payments to a seller by its domain. */
export function subjectOfSeller(domain: string): string {
  return named('seller', normalizeHostName(domain))
}

function named(per: LimitSubject, text: string): string {
  const subject = `${per}:${text}`
  if (subject.length <= maxLength) return subject
  return `${per}#${createHash('sha256').update(text).digest('base64url')}`
}
