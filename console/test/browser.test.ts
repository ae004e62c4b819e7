import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import { unpackedOnce } from './browser.ts'

test('A test file that unpacks the browser never replaces one that another file already runs', async (t) => {
  const parent = mkdtempSync(join(tmpdir(), 'purser-unpack-'))
  t.after(() => rmSync(parent, { recursive: true, force: true }))
  const folder = join(parent, 'browser')
  const { promise: firstIsDone, resolve: finishSlow } = Promise.withResolvers<void>()
  const slow = unpackedOnce(folder, async (own) => {
    await firstIsDone
    writeFileSync(join(own, 'chromium'), 'slow')
  })
  const first = await unpackedOnce(folder, async (own) => writeFileSync(join(own, 'chromium'), 'first'))
  const before = statSync(join(first, 'chromium')).ino
  finishSlow()
  assert.equal(await slow, folder)
  assert.equal(statSync(join(folder, 'chromium')).ino, before)
  assert.deepEqual(readdirSync(parent), ['browser'])
})
