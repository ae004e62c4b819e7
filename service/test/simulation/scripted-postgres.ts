import { createServer, type AddressInfo, type Socket } from 'node:net'

import { errorFrame, FrameReader, textsOf, type Frame } from '../faults/postgres-frames.ts'

/** The position in a transaction. */
export type Position = 'begin' | 'read' | 'write' | 'commit'

export const deliveries = [
  /** The server returns an error, and the connection stays open. */
  'error',
  /** It returns an error and closes the connection. */
  'error and end',
  /** The connection closes before the statement is run. */
  'end',
  /** The statement is run, and the connection closes before its answer. */
  'end after',
  /** The statement is run, and its answer is cut off. */
  'half an answer',
  /** The statement is run, and nothing is answered any more. */
  'silence',
] as const
export type Delivery = (typeof deliveries)[number]

export interface Script {
  readonly position: Position
  readonly delivery: Delivery
  readonly code: string
}

/** A server that finds no rows, accepts everything, and fails once according to its script. */
export async function startScriptedPostgres(script: Script) {
  const server = { commits: 0 }
  let isPlayed = false
  const sockets = new Set<Socket>()
  const listener = createServer((socket) => {
    sockets.add(socket)
    const reader = new FrameReader({ isClient: true })
    let text = ''
    let hasFailed = false
    let isSilent = false
    const prepared = new Map<string, string>()

    function answer(frame: Frame): void {
      if (isSilent) return
      switch (frame.type) {
        case '':
          socket.write(Buffer.concat([message('R', [0, 0, 0, 0]), ready]))
          break
        case 'P': {
          const [name = '', statement = ''] = textsOf(frame, 2)
          prepared.set(name, statement)
          if (!hasFailed) socket.write(message('1'))
          break
        }
        case 'B':
          text = prepared.get(textsOf(frame, 2)[1] ?? '') ?? ''
          if (!hasFailed) socket.write(message('2'))
          break
        case 'E':
          if (!hasFailed) execute()
          break
        case 'S':
          hasFailed = false
          socket.write(ready)
          break
      }
    }

    function execute(): void {
      const isDue = !isPlayed && positionOf(text) === script.position
      const { delivery, code } = script
      if (isDue) isPlayed = true
      if (isDue && (delivery === 'error' || delivery === 'error and end')) {
        hasFailed = true
        socket.write(errorFrame(code, 'scripted failure'))
        if (delivery === 'error and end') socket.end()
        return
      }
      if (isDue && delivery === 'end') return void socket.destroy()
      if (text === 'commit') server.commits++
      const done = message('C', Buffer.from(`${tags[text] ?? 'SELECT 0'}\0`))
      if (!isDue) return void socket.write(done)
      if (delivery === 'half an answer') socket.end(done.subarray(0, 4))
      else if (delivery === 'end after') socket.destroy()
      isSilent = true
    }

    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => reader.push(chunk).forEach(answer))
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  return {
    url: `postgresql://purser@127.0.0.1:${(listener.address() as AddressInfo).port}/ledger`,
    commits: () => server.commits,
    close: () => {
      for (const socket of sockets) socket.destroy()
      listener.close()
    },
  }
}

const tags: Readonly<Record<string, string>> = { commit: 'COMMIT', rollback: 'ROLLBACK' }

function positionOf(text: string): Position | undefined {
  if (text.startsWith('begin')) return 'begin'
  if (text === 'commit') return 'commit'
  if (text.includes('insert into')) return 'write'
  return text.includes('cross join lateral') ? 'read' : undefined
}

const ready = message('Z', Buffer.from('T'))

function message(type: string, body: readonly number[] | Buffer = []): Buffer {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, Buffer.from(body)])
}
