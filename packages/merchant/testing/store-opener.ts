import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

import { sqliteDeliveries } from '@purser/merchant/sqlite-store'

/** Opens new stores at the same times as other processes do, and reports the errors. */
const [folder = '', count = '0'] = process.argv.slice(2)

process.send?.('ready')
process.once('message', (startMs: number) => {
  const errors: string[] = []
  for (let number = 0; number < Number(count); number++) {
    while (Date.now() < startMs + 5 * number);
    try {
      sqliteDeliveries(new DatabaseSync(join(folder, `${number}.db`)))
    } catch (error) {
      errors.push(String(error))
    }
  }
  process.send?.(errors, () => process.disconnect())
})
