import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { test, type TestContext } from 'node:test'

import { startAppOverStore } from '../../testing/app-over-store.ts'
import type { ConnectionLimits } from './connections.ts'

/** Short limits for tests. */
const limits: ConnectionLimits = {
  arriveTimeoutMs: 300,
  checkIntervalMs: 50,
  maxConnections: 100,
  writeTimeoutMs: 400,
  minBytesInTime: 16 * 1024,
  oneAtATime: true,
  maxWaiting: 1_000,
  maxWaitingOfConnection: 512,
  maxBuffered: 64 * 1024 * 1024,
  maxBufferedOfConnection: 64 * 1024 * 1024,
}

async function start(context: TestContext, overrides: Partial<ConnectionLimits> = {}) {
  const sockets: Socket[] = []
  // Before the service closes, because it waits for them.
  context.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  const service = await startAppOverStore(context, {}, { connections: { ...limits, ...overrides } })
  const port = Number(new URL(service.url).port)
  const open = async () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    sockets.push(socket)
    await once(socket, 'connect')
    return socket
  }
  /** A connection that requests the document many times and reads no response. */
  const askWithoutReading = async (times: number, version = '1.1') => {
    const socket = await open()
    socket.pause()
    socket.write(
      `GET /openapi.json HTTP/${version}\r\nHost: x\r\nConnection: keep-alive\r\n\r\n`.repeat(times),
    )
    return socket
  }
  return { ...service, open, askWithoutReading }
}

/** Whether the service closes or resets a connection in this time. */
function closed(socket: Socket, withinMs: number): Promise<boolean> {
  const isClosed = new Promise<boolean>((resolve) => socket.once('close', () => resolve(true)))
  return Promise.race([isClosed, sleep(withinMs, false)])
}

/** The server's connections. */
function countConnections(server: {
  getConnections: (done: (error: unknown, count: number) => void) => void
}) {
  return new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)))
}

async function until(condition: () => Promise<boolean>, what: string): Promise<void> {
  const deadlineMs = performance.now() + 10_000
  while (!(await condition())) {
    if (performance.now() > deadlineMs) assert.fail(what)
    await sleep(20)
  }
}

test('A request whose head or body does not arrive in time is aborted, also if it trickles in', async (context) => {
  const { open } = await start(context)
  const beginnings = [
    '',
    'GET /healthz HTTP/1.1\r\nHost: x\r\n',
    'POST /agents HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{',
  ]
  for (const beginning of beginnings) {
    const socket = await open()
    socket.resume()
    socket.write(beginning)
    const trickle = setInterval(() => socket.write(beginning === '' ? '' : 'x'), 100)
    assert.ok(await closed(socket, 5_000), JSON.stringify(beginning))
    clearInterval(trickle)
  }
})

test('A client that does not read its responses is disconnected, and its memory is released', async (context) => {
  const { app, askWithoutReading } = await start(context)
  // More than the buffers of the operating system take.
  for (let count = 0; count < 2; count++) await askWithoutReading(60)
  await until(async () => (await countConnections(app.server)) > 0, 'no connection')
  await until(async () => (await countConnections(app.server)) === 0, 'a client that reads nothing was kept')
})

test('Over HTTP/1.0, where a response may end with its connection, half of one ends with a reset', async (context) => {
  const { app, askWithoutReading } = await start(context)
  const socket = await askWithoutReading(60, '1.0')
  const isReset = assert.rejects(once(socket, 'end'), { code: 'ECONNRESET' })
  await until(async () => (await countConnections(app.server)) > 0, 'no connection')
  await until(async () => (await countConnections(app.server)) === 0, 'a client that reads nothing was kept')
  socket.resume()
  await isReset
})

test('A slow reader that reads enough is not disconnected', async (context) => {
  const { app, open } = await start(context, { writeTimeoutMs: 1_000, minBytesInTime: 1 })
  const socket = await open()
  socket.pause()
  socket.write('GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(200))
  let bytes = 0
  for (let step = 0; step < 20; step++) {
    await sleep(50)
    bytes += (socket.read() as Buffer | null)?.length ?? 0
  }
  assert.ok(bytes > 0)
  assert.equal(await countConnections(app.server), 1)
})

test('The buffer of one connection is bounded', async (context) => {
  const { app, askWithoutReading, open } = await start(context, {
    writeTimeoutMs: 60_000,
    maxBufferedOfConnection: 20_000,
  })
  await askWithoutReading(60)
  await until(async () => (await countConnections(app.server)) === 0, 'its buffer is unbounded')
  const other = await open()
  assert.equal(await countConnections(app.server), 1)
  other.destroy()
})

test('The buffers of all connections are bounded: the longest idle reader is disconnected first', async (context) => {
  const { app, askWithoutReading } = await start(context, { writeTimeoutMs: 60_000, maxBuffered: 100_000 })
  const sockets: Socket[] = []
  for (let count = 0; count < 3; count++) {
    sockets.push(await askWithoutReading(60))
    await sleep(60)
  }
  const [first] = sockets
  assert.ok(first)
  await until(async () => (await countConnections(app.server)) < 3, 'all are kept')
  first.resume()
  assert.ok(await closed(first, 5_000), 'the first to stop reading is cut off first')
})

test('Connections above the limit are closed, and a closed connection makes room for a new one', async (context) => {
  const { app, open } = await start(context, { maxConnections: 3, arriveTimeoutMs: 60_000 })
  const kept = [await open(), await open(), await open()]
  await until(async () => (await countConnections(app.server)) === 3, 'three are taken')
  const refused = await open()
  refused.resume()
  assert.ok(await closed(refused, 5_000))
  kept[0]?.destroy()
  await until(async () => (await countConnections(app.server)) === 2, 'one has ended')
  const again = await open()
  again.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  const [answer] = (await once(again, 'data')) as [Buffer]
  assert.match(answer.toString(), /^HTTP\/1.1 200 /)
})

/** The bytes of a request. */
function ask(path: string, more = ''): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`
}

/** The paths of requests, in the order of their responses. */
function watchAnswers(server: Server): string[] {
  const answered: string[] = []
  server.prependListener('request', ({ url = '' }: IncomingMessage, response: ServerResponse) => {
    const writeHead = response.writeHead.bind(response) as (...head: unknown[]) => ServerResponse
    response.writeHead = (...head: unknown[]) => {
      answered.push(url)
      return writeHead(...head)
    }
  })
  return answered
}

test('Pipelined requests of a connection are answered one at a time, and others are answered between them', async (context) => {
  const { app, open } = await start(context)
  const answered = watchAnswers(app.server)
  const pipelined = await open()
  const other = await open()
  const closing = [pipelined, other].map((socket) => once(socket.resume(), 'close'))
  pipelined.write(ask('/healthz?pipelined').repeat(200) + ask('/healthz?last', 'Connection: close\r\n'))
  other.write(ask('/healthz?other', 'Connection: close\r\n'))
  await Promise.all(closing)
  assert.equal(answered.length, 202)
  assert.ok(
    answered.indexOf('/healthz?other') < answered.indexOf('/healthz?last'),
    'one request waited for all others',
  )
})

test('A client that reads no responses has only one waiting, however many it requests', async (context) => {
  const { app, askWithoutReading } = await start(context, { writeTimeoutMs: 60_000 })
  const answered = watchAnswers(app.server)
  await askWithoutReading(300)
  let before = -1
  await until(async () => {
    await sleep(200)
    const isAtRest = before === answered.length
    before = answered.length
    return before > 0 && isAtRest
  }, 'it is answered endlessly')
  assert.ok(before < 150, `${before} of 300 answers were generated`)
})

test('A connection with too many pipelined requests is closed, and others are answered', async (context) => {
  const { app, open } = await start(context, { maxWaitingOfConnection: 50 })
  const answered = watchAnswers(app.server)
  const many = {
    'for one path': ask('/healthz'),
    'with an invalid path': ask('/%'),
    'with a long id': ask(`/agents/${'x'.repeat(5_000)}`),
    'with an expectation': ask('/healthz', 'Expect: x\r\n'),
  }
  for (const [title, one] of Object.entries(many)) {
    const greedy = await open()
    greedy.resume()
    const before = answered.length
    greedy.write(ask('/healthz') + one.repeat(60))
    assert.ok(await closed(greedy, 5_000), title)
    assert.ok(answered.length - before < 60, title)
  }
  const modest = await open()
  const ended = once(modest.resume(), 'close')
  modest.write(ask('/healthz?modest').repeat(49) + ask('/healthz?last', 'Connection: close\r\n'))
  await ended
  assert.equal(answered.at(-1), '/healthz?last')
})

test('The waiting requests of all connections are bounded: the one that adds more is closed', async (context) => {
  const { app, askWithoutReading, open } = await start(context, { writeTimeoutMs: 60_000, maxWaiting: 500 })
  const kept = await askWithoutReading(400)
  await sleep(60)
  const closing = await askWithoutReading(400)
  closing.resume()
  assert.ok(await closed(closing, 5_000))
  const alone = await open()
  alone.write(ask('/healthz'))
  assert.match(String((await once(alone, 'data'))[0]), /^HTTP\/1.1 200 /)
  assert.equal(await countConnections(app.server), 2)
  kept.destroy()
  await until(async () => (await countConnections(app.server)) === 1, 'it is still open')
  const ended = once(alone.resume(), 'close')
  alone.write(ask('/healthz').repeat(400) + ask('/healthz', 'Connection: close\r\n'))
  await ended
})
