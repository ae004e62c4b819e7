import assert from 'node:assert/strict'
import { test } from 'node:test'

import { serviceStores } from '../../testing/service-stores.ts'
import { startTestService } from '../../testing/service.ts'
import { readDatabase } from '../settings/config.ts'
import { lacksKey } from './chosen-keys.ts'

const key = 'svc_sand_chosen-for-this-test'

for (const { name, missing, open } of serviceStores) {
  test(
    `A ledger on ${name} with other keys lacks one that was never issued`,
    { skip: missing ?? false },
    async (context) => {
      const opened = await open()
      context.after(() => opened.discard())
      const settings = { ...opened.settings, PURSER_BOOTSTRAP_SANDBOX_KEY: key }
      const service = await startTestService(context, settings)
      const reading = readDatabase(
        undefined,
        { PURSER_DATABASE: `sqlite:${service.databasePath}`, ...opened.settings },
        '/',
      )
      assert('database' in reading)
      assert.equal(await lacksKey(reading.database, key), false)
      assert.equal(await lacksKey(reading.database, `${key}-changed`), true)
    },
  )
}
