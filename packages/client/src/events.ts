import { ConnectionError } from './errors.ts'

/** One server-sent event. */
export interface ServerEvent {
  readonly event: string
  readonly id: string
  readonly data: string
}

/** Max length of an event, in characters. */
const maxEventLength = 8 * 1024 * 1024

/** The events of a stream as they arrive, without comments. Rejects if an event is too long. */
export async function* readEvents(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<ServerEvent, void, undefined> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let waiting = ''
  let id = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const blocks = (waiting + decoder.decode(value, { stream: true })).split('\n\n')
      // The last part may be incomplete.
      waiting = blocks.pop() ?? ''
      if (waiting.length > maxEventLength) {
        throw new ConnectionError(`an event has more than ${maxEventLength} characters`)
      }
      for (const block of blocks) {
        const fields = fieldsOf(block)
        id = fields.get('id') ?? id
        const data = fields.get('data')
        if (data !== undefined) yield { event: fields.get('event') ?? 'message', id, data }
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

function fieldsOf(block: string): Map<string, string> {
  const lines = block.split('\n').map((line): [string, string] => {
    const colon = line.indexOf(':')
    return colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')]
  })
  return new Map(lines)
}
