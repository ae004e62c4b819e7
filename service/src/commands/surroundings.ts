import { nodeFault } from '../node-version.ts'
import { StoreOpenError } from '../store/open-error.ts'

/** What a command is called in: its settings, its folder, and where its words go. */
export interface Surroundings {
  /** What was typed to call it: `purser`, or `npx purser`. */
  readonly calledAs: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly folder: string
  /** Whether somebody watches standard error, so that a line of progress may be written over. */
  readonly isWatched: boolean
  /** Results, a line or more, to standard output. */
  readonly print: (text: string) => void
  /** Progress and errors, a line or more, to standard error. */
  readonly printError: (text: string) => void
  /** Writes over the line of progress on standard error. */
  readonly overwrite: (line: string) => void
  /** The exit code of a command that says all it has to say without an error. */
  readonly exitWith: (code: number) => void
  /** Aborted by Ctrl-C. A command that asks for it promises to end then; another one dies at once. */
  readonly interruption: () => AbortSignal
}

/** How a command of the service ends, unless it ends well: see docs/guides/command-line.md. */
export const exitCodes = { failed: 1, usage: 2 } as const

/** An error that says in one sentence why the command cannot do what it is for; `purser` exits with its code. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError'
  readonly exitCode: number = exitCodes.failed
}

/** The command was called wrongly; the message says how. */
export class UsageError extends CommandError {
  override readonly name = 'UsageError'
  override readonly exitCode = exitCodes.usage
}

/**
 * The action of a command, with what the service cannot run on told as the command's own failure, and
 * what a store advises spelled as this command was.
 */
export function action<Args extends unknown[], Result>(
  { calledAs }: Pick<Surroundings, 'calledAs'>,
  act: (...args: Args) => Promise<Result>,
) {
  return async (...args: Args): Promise<Result> => {
    const fault = nodeFault(process.versions.node)
    if (fault !== undefined) throw new CommandError(fault)
    try {
      return await act(...args)
    } catch (error) {
      if (!(error instanceof StoreOpenError)) throw error
      throw new CommandError(error.tell({ purser: calledAs }))
    }
  }
}
