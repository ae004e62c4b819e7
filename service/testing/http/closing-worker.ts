/**
 * A primary whose only worker closes its port while a connection is on its way to it. Prints what the client of that
 * connection sees within ten seconds: `closed` or `waits`.
 */
import cluster from 'node:cluster'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

import { closeUntakenConnections } from '../../src/processes/handed-connections.ts'

if (cluster.isPrimary) {
  const worker = cluster.fork()
  closeUntakenConnections(worker)
  const [{ port }] = (await once(worker, 'listening')) as [AddressInfo]
  worker.send('close')
  await once(worker, 'message')
  const client = connect(port, '127.0.0.1')
  await once(client, 'connect')
  const closed = once(client, 'close').then(() => 'closed')
  console.log(await Promise.race([closed, sleep(10_000, 'waits')]))
  process.exit()
} else {
  const server = createServer().listen(0, '127.0.0.1')
  process.on('message', () => {
    process.send?.('closing', () => {
      // The connection arrives meanwhile, and is read after the port is closed.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
      server.close()
    })
  })
}
