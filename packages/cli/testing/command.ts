import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { runPurser } from '../src/run-purser.ts'
import type { Io } from '../src/io.ts'

/** The output and exit code of a command. */
export interface Ended {
  readonly code: number
  readonly output: string
  readonly errors: string
}

/** The command in the test's own folder and home, run in this process. */
export interface TestCommand {
  readonly folder: string
  readonly environment: Record<string, string>
  /** Runs `purser` with the args; resolves to its complete output. */
  readonly purser: (...words: readonly string[]) => Promise<Ended>
  /** Runs it in another environment, such as with a terminal, a secret, or a signal. */
  readonly purserWith: (changes: Partial<Io>, ...words: readonly string[]) => Promise<Ended>
}

/** The command for one test, or for a file of tests. */
export function testCommand(
  context: { readonly after: (clean: () => void) => void },
  environment: Record<string, string> = {},
): TestCommand {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))

  async function purserWith(changes: Partial<Io>, ...words: readonly string[]): Promise<Ended> {
    const output: (string | Uint8Array)[] = []
    const errors: string[] = []
    const code = await runPurser(words, {
      calledAs: 'purser',
      environment,
      folder,
      homeFolder: folder,
      isTerminal: false,
      columns: Number.POSITIVE_INFINITY,
      hasColours: false,
      isWatched: false,
      print: (text) => output.push(`${text}\n`),
      write: async (bytes) => void output.push(bytes),
      printError: (text) => errors.push(text),
      overwrite: () => assert.fail('nobody watches'),
      exitWith: () => assert.fail('the exit code is what runPurser resolves to'),
      readSecret: () => assert.fail('no secret is at hand'),
      readInput: () => assert.fail('there is no input'),
      canAsk: false,
      interruption: () => new AbortController().signal,
      now: Date.now,
      random: () => 0,
      ...changes,
    })
    const text = Buffer.concat(output.map((piece) => Buffer.from(piece as string))).toString('utf8')
    return { code, output: text.replace(/\n$/, ''), errors: errors.join('\n') }
  }

  return { folder, environment, purserWith, purser: (...words) => purserWith({}, ...words) }
}

/** The words of a line, as a shell splits it without quotes. */
export function words(line: string): string[] {
  return line.split(' ')
}
