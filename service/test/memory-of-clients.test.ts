import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'

import { makeFolder, startProcess } from './process.ts'

const connections = 20
const chunks = 65_000
const requests = 100_000
const skip = process.platform !== 'linux' && 'the memory of a process is read from /proc'

test('A body in very many chunks takes little more memory than its bytes', { skip }, async (context) => {
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
})

test(
  'A client that pipelines very many requests is disconnected before they take memory',
  { skip },
  async (context) => {
    const service = await startProcess(context, { folder: makeFolder(context) })
    const { hostname, port } = new URL(service.url)
    const before = memoryMiB(service.pid)
    const closing = Array.from({ length: connections }, async () => {
      const socket = connect(Number(port), hostname).on('error', () => undefined)
      context.after(() => socket.destroy())
      const closed = new Promise((resolve) => socket.once('close', resolve))
      socket.resume().write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(requests))
      await closed
    })
    await Promise.all(closing)
    assert.equal((await fetch(`${service.url}/readyz`)).status, 200)
    const grownMiB = memoryMiB(service.pid) - before
    assert.ok(grownMiB < 200, `${grownMiB} MiB`)
  },
)

function memoryMiB(pid: number): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kibibytes) / 1_024
}
