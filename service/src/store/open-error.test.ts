import assert from 'node:assert/strict'
import { test } from 'node:test'

import { StoreOpenError } from './open-error.ts'

test('An error about a ledger names its location and a remedy', () => {
  const error = new StoreOpenError('no_server', { place: 'postgresql://db/purser', cause: 'ECONNREFUSED' })
  assert.equal(
    error.message,
    'No PostgreSQL server answers at postgresql://db/purser (ECONNREFUSED); start it, or correct PURSER_DATABASE',
  )
})

test('An error about a ledger spells commands and settings like the user does, and does not change paths', () => {
  const place = '/home/purser restore/{purser}/purser.db'
  const unsound = new StoreOpenError('backup_unsound', { place, faults: 2 })
  assert.equal(
    unsound.tell({ purser: 'npx purser' }),
    `${place} is inconsistent (2 errors), and nothing was changed; restore another backup (npx purser ledger check --database sqlite:${place} lists the errors)`,
  )
  const foreign = new StoreOpenError('foreign_file', { place })
  assert.equal(
    foreign.tell({ file: '--from sqlite:' }),
    `${place} is a database of another program, and was left untouched; name another file with --from sqlite:/path/purser.db`,
  )
})
