import { ok, type Answer } from '../http/answers.ts'

/** The version that an entity tag names. Proxies that compress mark tags as weak. */
export function versionOfTag(tag: string): number {
  const [, digits = '0'] = /^(?:W\/)?"([1-9]\d{0,9})"$/.exec(tag) ?? []
  return Number(digits)
}

interface Versioned {
  readonly version: number
  readonly [field: string]: unknown
}

/** A record with its version as entity tag. */
export function okVersioned(record: Versioned): Answer {
  return ok(record, { etag: `"${record.version}"` })
}
