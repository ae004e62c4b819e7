import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

import { whatNext } from './copy-text.ts'
import { describeUrl } from '../store/ledger/postgres/address.ts'

test('The setting that a copy advises can be pasted into a shell', () => {
  for (const url of [
    'postgresql://purser@/ledger?host=/run/postgresql&port=5433',
    "postgresql://o'hara:secret@127.0.0.1:5432/ledger",
    'postgresql://purser@127.0.0.1:5432/ledger?sslmode=verify-full',
  ]) {
    const place = describeUrl(url)
    const text = whatNext(
      {
        place,
        isContinued: false,
        wasFinished: false,
        tables: [],
        ledgerFaults: [],
        hasProofSecret: true,
        isProven: true,
      },
      { path: 'purser.db', hasProofSecret: true },
    )
    const [, setting] = /^Copied\. Start the service with (PURSER_DATABASE=.*) \(/m.exec(text) ?? []
    const { stdout } = spawnSync('sh', ['-c', `${setting}; printf %s "$PURSER_DATABASE"`], {
      encoding: 'utf8',
    })
    assert.equal(stdout, place)
  }
})
