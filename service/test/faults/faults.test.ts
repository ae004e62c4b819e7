import assert from 'node:assert/strict'
import { test } from 'node:test'

import { faultKinds } from './faults.ts'
import { printReport } from './report.ts'
import { clashPercent, runFaults } from './run.ts'

const seed = Number(process.env['PURSER_TEST_SEED'] ?? 1)
const faults = 20

test('Whatever fails between two processes and PostgreSQL, no acknowledged charge is lost, none is made twice, and no budget is overspent [verify.step.4] [verify.step.5] [verify.step.6] [verify.step.8] [limits.nonce] [limits.total]', async (context) => {
  context.diagnostic(`PURSER_TEST_SEED=${seed}`)
  const report = await runFaults({ faults, seed, speed: 60, tell: () => undefined })
  for (const reason of report.missing) context.diagnostic(`not made here: ${reason}`)
  assert.deepEqual(report.complaints, [], printReport(report))
  assert.deepEqual(report.bugs, [])

  assert.ok(
    report.missing.every((reason) => reason.startsWith('fill the disk: ')),
    'everything else works anywhere',
  )
  const made = faultKinds
    .map(({ kind }) => kind)
    .filter((kind) => kind !== 'fill the disk' || report.missing.length === 0)
  assert.deepEqual([...report.faults.keys()].toSorted(), made.toSorted())
  assert.equal(
    [...report.faults.values()].reduce((sum, count) => sum + count, 0),
    faults,
  )
  assert.deepEqual(report.traceless, [])
  const { clashes, transactions } = report
  const clashed = Object.values(clashes).reduce((sum, count) => sum + count, 0)
  context.diagnostic(`${clashed} of ${transactions} transactions were made to clash`)
  assert.ok(transactions > 50, 'transactions continue between the faults')
  const percent = (100 * clashed) / transactions
  assert.ok(percent > clashPercent / 3 && percent < clashPercent * 2, `${percent} % conflicted`)
  assert.ok(
    Object.values(clashes).every((count) => count > 0),
    'with each of the codes',
  )

  const verified = report.evidence.calls.filter(({ answer }) => answer.is === 'verified')
  context.diagnostic(
    `${verified.length} of ${report.evidence.calls.length} requests were payments that went through`,
  )
  assert.ok(verified.length > 10, 'payments continue between the faults')
})
