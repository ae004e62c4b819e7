import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'

import { makeFolder, startProcess } from './process.ts'

const connections = 20
const chunks = 65_000

test(
  'A body in very many chunks takes little more memory than its bytes',
  { skip: process.platform !== 'linux' && 'the memory of a process is read from /proc' },
  async (context) => {
    const service = await startProcess(context, { folder: makeFolder(context) })
    const { hostname, port } = new URL(service.url)
    const before = memoryMiB(service.pid)
    const sockets: Socket[] = []
    context.after(() => sockets.forEach((socket) => socket.destroy()))
    for (let count = 0; count < connections; count++) {
      const socket = connect(Number(port), hostname).on('error', () => undefined)
      sockets.push(socket)
      await once(socket, 'connect')
      socket.write(
        `POST /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\n \r\n'.repeat(chunks)}`,
      )
    }
    // Each one ends, so that everything is read before the memory is.
    const answers = sockets.map(async (socket) => String((await once(socket, 'data'))[0]).split('\r\n')[0])
    await fetch(`${service.url}/readyz`)
    const grownMiB = memoryMiB(service.pid) - before
    for (const socket of sockets) socket.write('0\r\n\r\n')
    assert.deepEqual(new Set(await Promise.all(answers)), new Set(['HTTP/1.1 405 Method Not Allowed']))
    const afterMiB = memoryMiB(service.pid) - before
    assert.ok(Math.max(grownMiB, afterMiB) < 200, `${grownMiB} MiB, then ${afterMiB} MiB`)
  },
)

function memoryMiB(pid: number): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kibibytes) / 1_024
}
