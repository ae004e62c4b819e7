import assert from 'node:assert/strict'
import { test } from 'node:test'

import { printReport } from './report.ts'
import { runFaults } from './run.ts'

const seed = Number(process.env['PURSER_TEST_SEED'] ?? 1)
const faults = 20

test('Whatever fails between two processes and PostgreSQL, no acknowledged charge is lost, none is made twice, and no budget is overspent [verify.step.4] [verify.step.5] [verify.step.6] [verify.step.8] [limits.nonce] [limits.total] [decision.9] [decision.11] [decision.13] [decision.27]', async (context) => {
  context.diagnostic(`PURSER_TEST_SEED=${seed}`)
  const report = await runFaults({ faults, seed, speed: 60, tell: () => undefined })
  for (const reason of report.missing) context.diagnostic(`not made here: ${reason}`)
  assert.deepEqual(report.complaints, [], printReport(report))
  assert.deepEqual(report.bugs, [])
  const verified = report.evidence.calls.filter(({ answer }) => answer.is === 'verified')
  context.diagnostic(
    `${verified.length} of ${report.evidence.calls.length} requests were payments that went through`,
  )
  assert.ok(verified.length > 50, 'payments go on between the faults')
})
