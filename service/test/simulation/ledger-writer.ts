import { writeSync } from 'node:fs'

import { SqliteLedger } from '../../src/store/ledger/sqlite/ledger-thread.ts'
import { openSqliteFile } from '../../src/store/ledger/sqlite/open.ts'
import { RandomCalls } from './random-calls.ts'

// Writes random calls to a ledger until it is killed, and prints each payment once its capture is acknowledged:
// node ledger-writer.ts <file> <seed>

const [path = '', seed = ''] = process.argv.slice(2)
const file = openSqliteFile(path)
const ledger = new SqliteLedger({ path: file.path, maxBatch: 128, maxWaiting: 8_192 })
const calls = new RandomCalls(Number(seed))

async function keepCalling(): Promise<void> {
  for (;;) {
    const { operation, call } = calls.next()
    const outcome = (await ledger.run(operation, call)) as { readonly outcome?: string } | undefined
    if (operation.name !== 'capture' || outcome?.outcome !== 'captured') continue
    const { nonce, transactionId } = call as { readonly nonce: string; readonly transactionId: string }
    writeSync(1, `${nonce} ${transactionId}\n`)
  }
}

await Promise.all(Array.from({ length: 48 }, keepCalling))
