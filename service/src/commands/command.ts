/** One command of `purser`. */
export interface Command {
  /** The words that call it, such as `migrate status`. */
  readonly name: string
  /** What it does, in one line of the list of commands. */
  readonly summary: string
  /** What `--help` prints. */
  readonly help: string
  /**
   * Runs it with the words that follow its name; resolves to its exit code. Throws a `UsageError`, or an
   * error that says in one sentence why it cannot.
   */
  readonly run: (args: readonly string[], surroundings: Surroundings) => Promise<ExitCode>
}

/** What a command is called in: its settings, its folder, and where its words go. */
export interface Surroundings {
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
}

/** The command was called wrongly; the message says how. Exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The command cannot do what it is for; the message says why, in one sentence. Exit code 1. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

/** How a command ends: `done`, `failed` (the sentence on standard error), `usage` (called wrongly). */
export const exitCodes = { done: 0, failed: 1, usage: 2 } as const
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]
