import { Type, type Static } from '../schema/type.ts'

import { endpoint } from '../endpoint.ts'
import { described, Timestamp } from '../fields.ts'
import { ownerRoles, readerRoles } from '../roles.ts'

/** How far a test clock may be ahead in all: ten years, leap days included. */
export const maxClockSeconds = 3_653 * 24 * 3_600

export const TestClock = Type.Object({
  now: described(Timestamp, 'The time in the sandbox of the account.'),
  offset_seconds: Type.Number({
    minimum: 0,
    maximum: maxClockSeconds,
    description: 'How far that is ahead of the time of the service, in seconds.',
  }),
})
export type TestClock = Static<typeof TestClock>

export const TestClockAdvance = Type.Object({
  seconds: Type.Integer({
    minimum: 1,
    maximum: maxClockSeconds,
    description: 'How many seconds to advance the clock. It never goes back.',
    examples: [86_400],
  }),
})

export const getTestClock = endpoint({
  id: 'getTestClock',
  method: 'GET',
  path: '/v1/test-clock',
  tag: 'Accounts',
  summary: "Reads the clock of the account's sandbox.",
  roles: readerRoles,
  responses: { 200: TestClock },
  responseDescriptions: { 200: 'The clock.' },
  errors: ['sandbox_only'],
})

export const advanceTestClock = endpoint({
  id: 'advanceTestClock',
  method: 'POST',
  path: '/v1/test-clock/advance',
  tag: 'Accounts',
  summary:
    "Advances the clock of the account's sandbox: proofs, limits, approvals, authorizations and mandates use it as the current time. It never goes back. Production, and other accounts, keep the time of the service.",
  roles: ownerRoles,
  body: TestClockAdvance,
  responses: { 200: TestClock },
  responseDescriptions: { 200: 'The clock, advanced.' },
  errors: ['sandbox_only', 'test_clock_too_far'],
  errorDescriptions: {
    store_unavailable: 'the store is unavailable; read the clock to see whether it was advanced',
  },
})
