import assert from 'node:assert/strict'
import { test } from 'node:test'

import { postgres18 } from '../../../../testing/postgres.ts'
import { execute } from '../../../../testing/postgres-databases.ts'
import { StoreLedger } from '../../../../testing/store-ledger.ts'
import { hashApiKey } from '../../../domain/api-key.ts'
import { createIdsOfTimes } from '../../../ids.ts'
import { keyHashes } from '../tables.ts'
import { decoderOf } from '../reads/rows.ts'
import { openPostgresLedgerStore } from './postgres-ledger-store.ts'

const allBytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))

for (const output of ['hex', 'escape']) {
  test(`Keys work on a database whose bytea_output is ${output}`, async (context) => {
    const database = await postgres18.createEmptyDatabase()
    context.after(() => database.drop())
    const name = new URL(database.url).pathname.slice(1)
    await execute(database.url, `alter database ${name} set bytea_output = '${output}'`)
    const store = await openPostgresLedgerStore({ url: database.url, nextId: createIdsOfTimes() })
    const { sandbox } = await new StoreLedger({ store, close: () => store.close() }).tenant()
    assert.deepEqual(await store.authenticate(hashApiKey(sandbox.keyId)), sandbox)
    assert.deepEqual(await store.findLedgerFaults(), [])
    await store.close()

    const [row] = await execute<{ text: string }>(database.url, 'select concat($1::bytea) as text', [
      allBytes,
    ])
    assert.deepEqual(decoderOf(keyHashes.columns['secretHash'])(row?.text ?? ''), allBytes)
  })
}
