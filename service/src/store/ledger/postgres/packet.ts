type Value = string | Buffer | null

/** So much is kept for the next packets. */
const usualBytes = 65_536
let scratch = Buffer.allocUnsafe(usualBytes)
/** Where the packet in `scratch` ends. */
let end = 0

/**
 * What is sent to the server at once: messages of PostgreSQL's protocol, one after the other. `pg` would make a buffer of
 * each, and Node would hand each to the system. Only one packet can be made at a time.
 */
export const packet = {
  begin(): void {
    end = 0
    if (scratch.length > usualBytes) scratch = Buffer.allocUnsafe(usualBytes)
  },

  /** Prepares a statement; the server finds the types of its parameters. */
  parse(name: string, text: string): void {
    const start = beginMessage('P')
    writeText(name)
    writeText(text)
    writeInt16(0)
    endMessage(start)
  },

  /** Texts are sent as they are, bytes as PostgreSQL's binary format of the type. Answers come as text. */
  bind(statement: string, values: readonly Value[]): void {
    const start = beginMessage('B')
    writeText('')
    writeText(statement)
    writeInt16(values.length)
    for (const value of values) writeInt16(typeof value === 'object' && value !== null ? 1 : 0)
    writeInt16(values.length)
    for (const value of values) writeValue(value)
    writeInt16(0)
    endMessage(start)
  },

  /** Asks for the columns of the answer. */
  describe(): void {
    const start = beginMessage('D')
    writeText('P')
    endMessage(start)
  },

  /** Runs what was bound last, to its end. */
  execute(): void {
    const start = beginMessage('E')
    writeText('')
    writeInt32(0)
    endMessage(start)
  },

  sync(): void {
    endMessage(beginMessage('S'))
  },

  /** A copy, which the next packet leaves as it is. */
  take(): Buffer {
    return Buffer.from(scratch.subarray(0, end))
  },
}

/** Where its length is written, once it is known. */
function beginMessage(kind: string): number {
  makeRoom(5)
  scratch[end] = kind.charCodeAt(0)
  end += 5
  return end - 4
}

function endMessage(start: number): void {
  scratch.writeInt32BE(end - start, start)
}

function writeValue(value: Value): void {
  if (value === null) {
    writeInt32(-1)
    return
  }
  const bytes = typeof value === 'string' ? Buffer.from(value) : value
  writeInt32(bytes.length)
  makeRoom(bytes.length)
  scratch.set(bytes, end)
  end += bytes.length
}

/** Text that ends with NUL. */
function writeText(text: string): void {
  makeRoom(text.length * 3 + 1)
  end += scratch.write(text, end)
  scratch[end++] = 0
}

function writeInt16(value: number): void {
  makeRoom(2)
  end = scratch.writeInt16BE(value, end)
}

function writeInt32(value: number): void {
  makeRoom(4)
  end = scratch.writeInt32BE(value, end)
}

function makeRoom(size: number): void {
  if (end + size <= scratch.length) return
  const larger = Buffer.allocUnsafe((end + size) * 2)
  scratch.copy(larger, 0, 0, end)
  scratch = larger
}
