/** A message of PostgreSQL's protocol, with its bytes. */
export interface Frame {
  /** The type letter; empty for the first message of a connection. */
  readonly type: string
  readonly bytes: Buffer
}

/**
 * Splits a stream of bytes into messages. A client's first message has no type letter, a server's has one.
 */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0)
  #isStart: boolean

  constructor({ isClient }: { readonly isClient: boolean }) {
    this.#isStart = isClient
  }

  /** The messages that are complete so far. */
  push(chunk: Buffer): Frame[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const frames: Frame[] = []
    for (;;) {
      const headBytes = this.#isStart ? 0 : 1
      if (this.#rest.length < headBytes + 4) return frames
      const size = headBytes + this.#rest.readInt32BE(headBytes)
      if (this.#rest.length < size) return frames
      const bytes = this.#rest.subarray(0, size)
      frames.push({ type: this.#isStart ? '' : String.fromCharCode(bytes[0] ?? 0), bytes })
      this.#isStart = false
      this.#rest = this.#rest.subarray(size)
    }
  }
}

/** The zero-terminated texts of a message, from an offset on. */
export function textsOf({ bytes }: Frame, count: number): string[] {
  const texts: string[] = []
  for (let at = 5; texts.length < count;) {
    const end = bytes.indexOf(0, at)
    if (end === -1) break
    texts.push(bytes.toString('utf8', at, end))
    at = end + 1
  }
  return texts
}

/** The five characters of an error's code. */
export function codeOfError({ bytes }: Frame): string {
  for (let at = 5; at < bytes.length && bytes[at] !== 0;) {
    const end = bytes.indexOf(0, at)
    if (bytes[at] === 'C'.charCodeAt(0)) return bytes.toString('utf8', at + 1, end)
    at = end + 1
  }
  return ''
}

/** A client's query in the simple protocol. */
export function queryFrame(text: string): Buffer {
  return frame('Q', Buffer.from(`${text}\0`))
}

/** A client's message that prepares an unnamed statement, in the extended protocol. */
export function parseFrame(text: string): Buffer {
  return frame('P', Buffer.from(`\0${text}\0\0\0`))
}

/** A server's response that a statement failed, and its transaction with it. */
export function errorFrame(code: string, message: string): Buffer {
  return frame('E', Buffer.from(`SERROR\0VERROR\0C${code}\0M${message}\0\0`))
}

function frame(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
