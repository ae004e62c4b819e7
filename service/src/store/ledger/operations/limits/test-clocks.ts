import { clockOffsetOf, maxClockOffsetMs } from '../../../../domain/time/test-clock.ts'
import type { Scope } from '../../../../domain/records.ts'
import type { ClockOutcome } from '../../../store.ts'
import { lock, look, operation, portOperation, put, refused, unchanged } from '../../operation.ts'
import { accounts, auditEvents } from '../../tables.ts'

export const advanceClock = portOperation('advanceClock', {
  reads: ([scope]) => [lock(accounts, { id: scope.accountId })],

  decide([scope, byMs, event], facts) {
    const account = facts.row(accounts, { id: scope.accountId })
    if (!account || scope.environment !== 'sandbox') return refused('not_found')
    const beforeMs = account.clockOffsetMs ?? 0
    if (facts.written(auditEvents, event)) return unchanged(advanced(beforeMs))
    const offsetMs = beforeMs + byMs
    if (!(byMs > 0 && offsetMs <= maxClockOffsetMs)) return refused('test_clock_too_far')
    const data = { ...event.data, seconds: byMs / 1_000, offset_seconds: offsetMs / 1_000 }
    return {
      outcome: advanced(offsetMs),
      changes: [put(accounts, { ...account, clockOffsetMs: offsetMs }), put(auditEvents, { ...event, data })],
    }
  },
})

export const readClock = operation<Scope, number>('readClock', {
  reads: ({ accountId }) => [look(accounts, { id: accountId })],
  decide: ({ accountId, environment }, facts) =>
    unchanged(clockOffsetOf(facts.row(accounts, { id: accountId }), environment)),
})

function advanced(offsetMs: number): ClockOutcome {
  return { outcome: 'advanced', offsetMs }
}
