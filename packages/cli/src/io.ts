/** The environment of a command: its settings, folder and terminal. Nothing else accesses the process. */
export interface Io {
  /** How the command was invoked, for suggested commands: `purser`, or `npx purser`. */
  readonly calledAs: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly folder: string
  readonly homeFolder: string
  /** Whether standard output is a terminal, which needs escaped text. */
  readonly isTerminal: boolean
  /** Columns of standard output; infinite if it is not a terminal. */
  readonly columns: number
  readonly hasColours: boolean
  /** Whether standard error is a terminal, so that progress can be updated in place. */
  readonly isWatched: boolean
  /** Prints results to standard output. */
  readonly print: (text: string) => void
  /** Writes raw data to standard output; resolves when more can be written, rejects if it cannot be written. */
  readonly write: (bytes: Uint8Array) => Promise<void>
  /** Prints progress and errors to standard error. */
  readonly printError: (text: string) => void
  /** Updates the progress line on standard error. */
  readonly overwrite: (line: string) => void
  /** Sets the exit code of a command that succeeds without an error. */
  readonly exitWith: (code: number) => void
  /** A secret from standard input: typed without echo at a terminal, otherwise the first line of a pipe. */
  readonly readSecret: (question: string) => Promise<string>
  /** All of standard input. The question is asked at a terminal, where Ctrl-D ends the input. */
  readonly readInput: (question: string) => Promise<string>
  /** Whether standard input is a terminal, for prompts. */
  readonly canAsk: boolean
  /** Aborts on Ctrl-C. A command that reads this must then stop; other commands are killed. */
  readonly interruption: () => AbortSignal
  readonly now: () => number
  /** A random number in [0, 1) for retry jitter. */
  readonly random: () => number
}
