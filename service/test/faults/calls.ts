import type { Call, CallOf, Request } from './history.ts'

/** The last moment at which a call can have taken effect; unlimited if its outcome is unknown. */
export function latestMs({ answer, endedMs }: Call): number {
  return isFateUnknown({ answer }) ? Infinity : endedMs
}

export function isFateUnknown({ answer }: Pick<Call, 'answer'>): boolean {
  return answer.is === 'unknown' || answer.is === 'unavailable'
}

export function isDone({ answer, request }: Call): boolean {
  if (request.act === 'void-proof' || request.act === 'void-authorized')
    return answer.is === 'proof' && answer.status === 'voided'
  return answer.is === (request.act === 'amend-mandate' ? 'amended' : 'done')
}

export function isVerified({ answer }: Call): boolean {
  return answer.is === 'verified'
}

/** The changes of something that may be the last one at some moment of a call; `isFirst` if it may not have been changed. */
export function possibleDuring<Change extends Call>(
  changes: readonly Change[],
  { beganMs, endedMs }: Pick<Call, 'beganMs' | 'endedMs'>,
): { readonly changes: readonly Change[]; readonly isFirst: boolean } {
  const over = changes.filter((change) => isDone(change) && change.endedMs < beganMs)
  const lastBeganMs = Math.max(...over.map((change) => change.beganMs))
  return {
    changes: changes.filter((change) => change.beganMs <= endedMs && latestMs(change) >= lastBeganMs),
    isFirst: over.length === 0,
  }
}

export function mayHaveActed(call: Call): boolean {
  return isDone(call) || isFateUnknown(call)
}

export function callsOf<Act extends Request['act']>(calls: readonly Call[], ...acts: Act[]): CallOf<Act>[] {
  return calls.filter((call): call is CallOf<Act> => (acts as string[]).includes(call.request.act))
}
