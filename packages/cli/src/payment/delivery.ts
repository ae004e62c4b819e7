import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

import { codeOf } from '../error-code.ts'
import { CommandError } from '../exit-codes.ts'
import { harmlessLines } from '../output/harmless.ts'
import type { Io } from '../io.ts'

/** The destination of a response body. */
export interface Delivery {
  /** Writes the body in chunks; resolves to its file, if any. */
  readonly take: (body: ReadableStream<Uint8Array> | null) => Promise<string | undefined>
  /** Removes the file if nothing was written. */
  readonly discard: () => void
}

/** A new file, or standard output. Throws a `CommandError` if the file exists or cannot be created. */
export function openDelivery(output: string | undefined, io: Io): Delivery {
  return output === undefined ? toStandardOutput(io) : toNamedFile(resolve(io.folder, output))
}

function toNamedFile(path: string): Delivery {
  if (existsSync(path)) {
    throw new CommandError(`${path} already exists; choose another --output. Nothing was paid`)
  }
  try {
    return toFile(path)
  } catch (error) {
    throw new CommandError(`${path} cannot be written (${codeOf(error)}). Nothing was paid`)
  }
}

/** The file gets its name when it is complete, so that an interrupted purchase can be continued into it. */
function toFile(path: string): Delivery {
  const partial = `${path}.${randomBytes(4).toString('hex')}.part`
  const file = openSync(partial, 'wx', 0o666)
  let isTaken = false
  return {
    take: async (body) => {
      isTaken = true
      try {
        for await (const bytes of body ?? []) writeFileSync(file, bytes)
      } finally {
        closeSync(file)
      }
      // Another process may have created it in the meantime.
      if (existsSync(path)) return partial
      renameSync(partial, path)
      return path
    },
    discard: () => {
      if (isTaken) return
      isTaken = true
      closeSync(file)
      rmSync(partial, { force: true })
    },
  }
}

function toStandardOutput(io: Io): Delivery {
  const { isTerminal, write } = io
  return {
    take: async (body) => {
      if (!body) return undefined
      if (!isTerminal) {
        try {
          for await (const bytes of body) await write(bytes)
        } catch (error) {
          // A reader that closes the pipe wants no more, but the payment is still reported.
          if (codeOf(error) !== 'EPIPE') throw error
        }
        return undefined
      }
      return showOnTerminal(body, io)
    },
    discard: () => undefined,
  }
}

/** After more text than this, only what is no text is saved. */
const maxShownBytes = 16 * 1024 * 1024

/**
 * Shows text, escaped, and ends its last line, because the report of the payment follows. Other paid content must not be
 * lost, so it is saved whole in a new file once it is no text, also after a beginning that was shown.
 */
async function showOnTerminal(
  body: ReadableStream<Uint8Array>,
  io: Pick<Io, 'write' | 'folder' | 'homeFolder'>,
): Promise<string | undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const encoder = new TextEncoder()
  const shown: Uint8Array[] = []
  let shownBytes = 0
  let last = ''
  for (;;) {
    const { value } = await reader.read()
    const text = textOf(value, decoder)
    if (text === undefined) return toFreshFile(io).take(continued(value ? [...shown, value] : shown, reader))
    if (!value) break
    shown.push(value)
    shownBytes += value.length
    if (shownBytes > maxShownBytes) shown.length = 0
    last = text || last
    await io.write(encoder.encode(harmlessLines(text)))
  }
  if (last !== '' && !last.endsWith('\n')) await io.write(encoder.encode('\n'))
  return undefined
}

/** The text of the next part, or of the end; undefined if it is not text. */
function textOf(bytes: Uint8Array | undefined, decoder: TextDecoder): string | undefined {
  if (bytes?.includes(0)) return undefined
  try {
    return decoder.decode(bytes, { stream: bytes !== undefined }).replaceAll('\r\n', '\n')
  } catch {
    return undefined
  }
}

/** A body whose beginning was read. */
function continued(
  begun: readonly Uint8Array[],
  reader: ReadableStreamDefaultReader<Uint8Array>,
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => begun.forEach((bytes) => controller.enqueue(bytes)),
    pull: async (controller) => {
      const { done, value } = await reader.read()
      if (done) controller.close()
      else controller.enqueue(value)
    },
  })
}

/** A new file here, or in the home folder if none can be created here. */
function toFreshFile({ folder, homeFolder }: Pick<Io, 'folder' | 'homeFolder'>): Delivery {
  const name = `purser-${new Date().toISOString().replaceAll(/[:.]/g, '-')}.bin`
  try {
    return toFile(join(folder, name))
  } catch {
    return toFile(join(homeFolder, name))
  }
}
