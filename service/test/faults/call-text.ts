import type { Call } from './history.ts'

/** A call of a history on one line: when, by which key, the request and the answer. */
export function callText({ keyId, request, beganMs, endedMs, answer }: Call): string {
  return `${beganMs}..${endedMs} ${keyId} ${jsonOf(request)} -> ${jsonOf(answer)}`
}

/** As JSON, which has no bigint. */
export function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part))
}
