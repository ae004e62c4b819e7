/**
 * Buys once with a purchase id, in a separate process, and kills itself (SIGKILL) at step `KILL_AT`: every
 * call to the network and to the store begins and ends with a step.
 */
import { Purser, wrapFetchWithPayment, type PurchaseStore } from '../src/client.ts'
import { openPurchaseFiles } from '../src/purchase-files.ts'

const { ADDRESS = '', PURSER_URL, PURSER_AGENT_KEY, FOLDER = '', PURCHASE_ID = '', KILL_AT } = process.env

let steps = 0
function step(): void {
  if (++steps === Number(KILL_AT)) process.kill(process.pid, 'SIGKILL')
}

async function stepping<Value>(act: () => Promise<Value>): Promise<Value> {
  step()
  const value = await act()
  step()
  return value
}

const steppingFetch: typeof fetch = (input, init) => stepping(() => fetch(input, init))
const files = await openPurchaseFiles(FOLDER)
const purchases: PurchaseStore = {
  find: (purchaseId) => stepping(() => files.find(purchaseId)),
  save: (record) => stepping(() => files.save(record)),
}
const client = new Purser({ apiKey: PURSER_AGENT_KEY, baseUrl: PURSER_URL, fetch: steppingFetch })
const fetchPaid = wrapFetchWithPayment(steppingFetch, { client, purchases })
process.stdout.write('ready\n')
const answer = await fetchPaid(ADDRESS, { purchaseId: PURCHASE_ID })
process.stdout.write(await answer.text())
