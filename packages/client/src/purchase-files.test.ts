import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import { openPurchaseFiles, type PurchaseRecord } from './purchase-files.ts'

const skip = process.platform === 'win32' ? 'Windows cannot pause a process' : false

test(
  'A process that is paused while it looks for a purchase in a large folder finds it, whatever others save meanwhile',
  { skip },
  async (context) => {
    // A file system in memory lists a folder in one step.
    const parent = existsSync('/var/tmp') ? '/var/tmp' : tmpdir()
    const folder = mkdtempSync(join(parent, 'purser-purchases-'))
    context.after(() => rmSync(folder, { recursive: true, force: true }))
    for (let other = 0; other < 2_000; other++) writeFileSync(join(folder, `${other}.1.json`), '')
    const purchases = await openPurchaseFiles(folder)
    await purchases.save(recordOf(1))
    const finder = fork(join(import.meta.dirname, '../testing/purchase-finder.ts'), [folder, purchaseId])
    context.after(() => finder.kill('SIGKILL'))
    const found = new Set<unknown>()
    finder.on('message', (isFound) => found.add(isFound))
    for (let revision = 2; revision <= 150; revision++) {
      await once(finder, 'message')
      finder.kill('SIGSTOP')
      assert.equal(await purchases.save(recordOf(revision)), true)
      finder.kill('SIGCONT')
    }
    assert.deepEqual([...found], [true])
  },
)

const purchaseId = 'order-1'

function recordOf(revision: number): PurchaseRecord {
  return { purchaseId, revision, attempt: 1, fingerprint: '', changedAtMs: 0, step: { kind: 'over' } }
}
