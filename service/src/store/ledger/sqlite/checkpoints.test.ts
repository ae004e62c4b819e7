import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import { Checkpoints } from './checkpoints.ts'
import { connect, logPages, openSqliteFile } from './open.ts'

test('The log of a ledger that writes little is left alone; from the 200th commit on, it is preallocated and copied', async (context) => {
  const { path, database } = openIn(context)
  const { promise: longLog, resolve: onLongLog } = Promise.withResolvers<void>()
  const checkpoints = new Checkpoints(path, onLongLog)
  context.after(() => checkpoints.stop())
  const emptyBytes = statSync(path).size
  for (let commit = 1; commit < 200; commit++) checkpoints.committed()
  // More than half of the log.
  database.exec(`create table filled as select zeroblob(${(logPages / 2) * 4_096}) as bytes`)
  assert(statSync(`${path}-wal`).size < logPages * 4_096)
  checkpoints.committed()
  await longLog
  assert(statSync(`${path}-wal`).size >= logPages * 4_096)
  const copiedBytes = statSync(path).size
  assert(copiedBytes > emptyBytes + (logPages / 2) * 4_096, `${emptyBytes} to ${copiedBytes}`)
})

function openIn(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  const path = join(folder, 'purser.db')
  const file = openSqliteFile(path)
  const database = connect(path)
  context.after(() => {
    database.close()
    file.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { path, database }
}
