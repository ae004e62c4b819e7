import { nodeFault } from '../node-version.ts'
import { StoreOpenError } from '../store/open-error.ts'

/** The environment of a command: its settings, folder and output. */
export interface Io {
  /** How the command was invoked: `purser`, or `npx purser`. */
  readonly calledAs: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly folder: string
  /** Whether standard error is a terminal, so that progress can be updated in place. */
  readonly isWatched: boolean
  /** Prints results to standard output. */
  readonly print: (text: string) => void
  /** Prints progress and errors to standard error. */
  readonly printError: (text: string) => void
  /** Updates the progress line on standard error. */
  readonly overwrite: (line: string) => void
  /** Sets the exit code of a command that succeeds without an error. */
  readonly exitWith: (code: number) => void
  /** Aborts on Ctrl-C. A command that reads this must then stop; other commands are killed. */
  readonly interruption: () => AbortSignal
}

/** The exit codes for failures; see docs/guides/command-line.md. */
export const exitCodes = { failed: 1, usage: 2 } as const

/** Why a command failed, in one sentence; `purser` exits with its code. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError'
  readonly exitCode: number = exitCodes.failed
}

/** Wrong usage; the message shows the right one. */
export class UsageError extends CommandError {
  override readonly name = 'UsageError'
  override readonly exitCode = exitCodes.usage
}

/**
 * Wraps the action of a command: an unsupported Node becomes the command's error, and advice in store errors uses the
 * spelling of this command.
 */
export function action<Args extends unknown[], Result>(
  { calledAs }: Pick<Io, 'calledAs'>,
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
