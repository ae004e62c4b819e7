/** Copies a ledger, and is killed (`kill -9`) after a given number of batches: `killed-copy.ts {…}`. */

import { copyLedger, type CopyOptions } from '../../src/copy/copy-ledger.ts'

const order = JSON.parse(process.argv[2] ?? '') as CopyOptions & { readonly killedAfter: number }
let reports = 0
await copyLedger({
  ...order,
  onProgress: () => {
    if (++reports === order.killedAfter) process.kill(process.pid, 'SIGKILL')
  },
})
