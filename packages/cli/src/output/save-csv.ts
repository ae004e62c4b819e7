import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

import { codeOf } from '../error-code.ts'
import { CommandError } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { harmless, harmlessJson, harmlessLines } from './harmless.ts'

/**
 * Streams CSV to a new file, or to standard output. The file gets its name only when it is complete, so an
 * interrupted export never looks complete.
 */
export async function saveCsv(
  open: () => Promise<ReadableStream<Uint8Array>>,
  { output, json }: { readonly output?: string | undefined; readonly json?: true },
  io: Io,
): Promise<void> {
  const { folder, isTerminal, print, write } = io
  if (output !== undefined) {
    const path = resolve(folder, output)
    await saveToFile(open, path)
    return print(json ? harmlessJson({ saved_to: path }, 2) : `Saved to ${harmless(path)}`)
  }
  if (json) {
    throw new CommandError('--json needs --output here; purser transactions list --json prints JSON', 'usage')
  }
  const decoder = new TextDecoder()
  const encoder = new TextEncoder()
  const shown = (bytes: Uint8Array) =>
    encoder.encode(harmlessLines(decoder.decode(bytes, { stream: true }).replaceAll('\r\n', '\n')))
  const csv = await open()
  await unlessBroken(async () => {
    for await (const bytes of csv) await write(isTerminal ? shown(bytes) : bytes)
  })
}

async function saveToFile(open: () => Promise<ReadableStream<Uint8Array>>, path: string): Promise<void> {
  if (existsSync(path)) throw new CommandError(`${path} already exists; choose another --output`)
  const csv = await open()
  const partial = `${path}.${randomBytes(4).toString('hex')}.part`
  const file = create(partial)
  try {
    await unlessBroken(async () => {
      for await (const bytes of csv) writeFileSync(file, bytes)
    })
    // Another process may have created it in the meantime.
    if (existsSync(path)) throw new CommandError(`${path} already exists; choose another --output`)
    renameSync(partial, path)
  } catch (error) {
    rmSync(partial, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
}

function create(path: string): number {
  try {
    return openSync(path, 'wx', 0o600)
  } catch (error) {
    throw new CommandError(`${path} cannot be written (${codeOf(error)}); choose another --output`)
  }
}

/** Reports an aborted stream in one sentence; a full disk has its own error. */
async function unlessBroken(copy: () => Promise<void>): Promise<void> {
  try {
    await copy()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new CommandError('the export was interrupted; run it again', 'unavailable')
  }
}
