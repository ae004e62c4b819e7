import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import type { Table, TableRow } from '../../src/store/ledger/table.ts'
import { capturedOf } from '../../src/store/ledger/operations/payment-rows.ts'
import { entries, mandates, payments } from '../../src/store/ledger/tables.ts'
import { openSqliteFile } from '../../src/store/ledger/sqlite/open.ts'
import { readerOf } from '../../src/store/ledger/sqlite/sqlite-reader.ts'
import { findRows } from '../../src/store/ledger/reads/rows.ts'
import { sql } from '../../src/store/sql.ts'

test('A process that is killed while it writes loses no acknowledged capture, and leaves no partial batch', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-killed-'))
  const path = join(folder, 'ledger.db')
  let acknowledged: string[] = []
  for (const seed of [1, 2, 3]) {
    acknowledged = [...acknowledged, ...(await writeUntilKilled(path, seed))]
    const { database, close } = openSqliteFile(path)
    const rowsOf = <Of extends Table>(table: Of) => findRows(readerOf(database), table, sql`true`)
    const found = await rowsOf(payments)
    const captured = found.filter(({ status }) => status === 'captured')
    const transactionOf = new Map(captured.map(({ nonce, transactionId }) => [nonce, transactionId]))
    for (const line of acknowledged) {
      const [nonce = '', transactionId] = line.split(' ')
      assert.equal(transactionOf.get(nonce), transactionId, line)
    }
    const paid = (await rowsOf(entries)).filter(({ kind }) => kind === 'paid')
    assert.equal(paid.length, captured.length)
    assert.deepEqual(new Set(paid.map(({ id }) => id)), new Set(transactionOf.values()))
    const ofMandate = Map.groupBy(found, ({ mandateId }) => mandateId)
    for (const mandate of await rowsOf(mandates)) {
      const { id, epoch, spentMicro, heldMicro, openPayments } = mandate
      const of = ofMandate.get(id) ?? []
      const open = of.filter((payment) => payment.status === 'open' && payment.epoch === epoch)
      const spent = of.filter(({ status }) => status === 'captured').map(spentOf)
      assert.equal(spentMicro, sum(spent))
      const authorized = of.filter(({ status }) => status === 'authorized')
      assert.deepEqual(
        [mandate.authorizedMicro, mandate.authorizedPayments],
        [sum(authorized), authorized.length],
      )
      assert.deepEqual([heldMicro, openPayments], [sum(open), open.length])
    }
    assert.equal(database.pragma('integrity_check', { simple: true }), 'ok')
    close()
  }
  assert.ok(acknowledged.length > 55, `${acknowledged.length} captures`)
  rmSync(folder, { recursive: true })
})

/** What the writer acknowledged until it was killed, some time after its first captures. */
async function writeUntilKilled(path: string, seed: number): Promise<string[]> {
  const script = fileURLToPath(new URL('ledger-writer.ts', import.meta.url))
  const child = spawn(process.execPath, [script, path, String(seed)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<NodeJS.Signals | null>((resolve) =>
    child.once('close', (_, signal) => resolve(signal)),
  )
  let output = ''
  const enough = new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (output.split('\n').length > 20) resolve()
    })
  })
  await Promise.race([enough, ended])
  await sleep(seed * 7)
  child.kill('SIGKILL')
  assert.equal(await ended, 'SIGKILL', 'the writer exited by itself')
  // The last line may be incomplete.
  return output.split('\n').slice(0, -1)
}

/** What a captured payment has spent, without its refunds. */
function spentOf(payment: TableRow<typeof payments>) {
  return { amountMicro: capturedOf(payment) - (payment.refundedMicro ?? 0n) }
}

function sum(of: readonly { readonly amountMicro: bigint }[]): bigint {
  return of.reduce((total, { amountMicro }) => total + amountMicro, 0n)
}
