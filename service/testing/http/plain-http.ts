import { request as openRequest, type Agent, type IncomingHttpHeaders } from 'node:http'
import { connect } from 'node:net'

/** A request exactly as it is sent: `fetch` would normalize paths and refuse some bodies and methods. */
export interface PlainRequest {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly body?: Buffer | string | undefined
  readonly agent?: Agent
  /** Max silence of the connection; default half a minute. */
  readonly timeoutMs?: number
}

export interface PlainAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The body as JSON; undefined if it is not JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read bodies of every shape
  readonly body: any
}

/** The response to a plain HTTP request. */
export function sendPlain(url: string, request: PlainRequest): Promise<PlainAnswer> {
  const { hostname, port } = new URL(url)
  const { method, path, headers = {}, body, agent, timeoutMs = 30_000 } = request
  return new Promise((resolve, reject) => {
    const outgoing = openRequest({
      host: hostname,
      port,
      method,
      path,
      headers: { ...framingOf(headers, body), ...headers },
      agent,
      timeout: timeoutMs,
    })
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer to ${method} ${path}`)))
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => {
      const { statusCode: status = 0, headers: received } = incoming
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        if (!received['content-type']?.startsWith('text/event-stream')) return
        // A feed never ends: its first event is the response.
        const text = Buffer.concat(chunks).toString()
        if (!text.includes('\n\n')) return
        resolve({ status, headers: received, text, body: parse(/^data: (.*)$/m.exec(text)?.[1] ?? '') })
        incoming.destroy()
      })
      incoming.on('error', reject)
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        const isCsv = received['content-type']?.startsWith('text/csv') ?? false
        resolve({ status, headers: received, text, body: isCsv ? text : parse(text) })
      })
    })
    outgoing.end(body)
  })
}

/** Everything that the service sends on a connection after these bytes. */
export function sendBytes(url: string, bytes: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    const chunks: Buffer[] = []
    socket.setTimeout(10_000, () => socket.destroy(new Error('the service keeps the connection open')))
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()))
  })
}

/** Node frames the bodies of some methods only. */
function framingOf(
  headers: NonNullable<PlainRequest['headers']>,
  body: PlainRequest['body'],
): Record<string, string> {
  if (body === undefined || headers['content-length'] || headers['transfer-encoding']) return {}
  return { 'content-length': String(Buffer.byteLength(body)) }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
