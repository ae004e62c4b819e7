import { connect, type Socket } from 'node:net'

/** The status of a response, and its body only on request. */
export interface Answer {
  readonly status: number
  readonly body: () => string
}

/**
 * One keep-alive connection with one request at a time. It parses only as much HTTP as a service's responses
 * need, so that the client's own cost does not hide the server's.
 */
export class Connection {
  readonly #socket: Socket
  #received = ''
  #onAnswer: (answer: Answer) => void = () => undefined
  #onFailure: (error: Error) => void = () => undefined
  #isClosing = false

  /** Resolves to a connection to a local port once it is open. */
  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const connection = new Connection(port)
      connection.#onFailure = reject
      connection.#socket.once('connect', () => resolve(connection))
    })
  }

  private constructor(port: number) {
    this.#socket = connect({
      host: '127.0.0.1',
      port,
      noDelay: true,
      // One buffer for all responses instead of one for each.
      onread: {
        buffer: Buffer.allocUnsafe(65_536),
        callback: (length, buffer) => this.#receive(buffer as Buffer, length),
      },
    })
    this.#socket.on('error', (error) => this.#onFailure(error))
    this.#socket.on('close', () => {
      if (!this.#isClosing) this.#onFailure(new Error('the server closed a connection'))
    })
  }

  /** Sets the receiver of responses; they arrive in the order of the requests. */
  listen(onAnswer: (answer: Answer) => void, onFailure: (error: Error) => void): void {
    this.#onAnswer = onAnswer
    this.#onFailure = onFailure
  }

  send(request: Buffer): void {
    this.#socket.write(request)
  }

  close(): void {
    this.#isClosing = true
    this.#socket.destroy()
  }

  #receive(buffer: Buffer, length: number): boolean {
    const text = this.#received + buffer.toString('latin1', 0, length)
    const bodyStart = text.indexOf('\r\n\r\n') + 4
    if (bodyStart < 4) return this.#await(text)
    const lengthStart = text.indexOf('content-length: ')
    if (lengthStart < 0 || lengthStart > bodyStart) {
      this.#onFailure(new Error(`an answer without a content-length:\n${text.slice(0, bodyStart)}`))
      return false
    }
    const end = bodyStart + Number.parseInt(text.slice(lengthStart + 16, lengthStart + 26), 10)
    if (text.length < end) return this.#await(text)
    this.#received = ''
    this.#onAnswer({
      status: Number.parseInt(text.slice(9, 12), 10),
      body: () => Buffer.from(text.slice(bodyStart, end), 'latin1').toString(),
    })
    return true
  }

  #await(text: string): true {
    this.#received = text
    return true
  }
}
