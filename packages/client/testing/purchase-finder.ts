/** A process that keeps looking for a purchase, and sends whether it found it. Its args are the folder and the id. */

import { openPurchaseFiles } from '../src/purchase-files.ts'

const [folder = '', purchaseId = ''] = process.argv.slice(2)
const store = await openPurchaseFiles(folder)
for (;;) process.send?.((await store.find(purchaseId)) !== undefined)
