/** What a command is called in: its settings, its folder, its terminal. Nothing else looks at the process. */
export interface Surroundings {
  /** What was typed to call it, so that what it advises can be typed too: `purser`, or `npx purser`. */
  readonly calledAs: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly folder: string
  readonly homeFolder: string
  /** Whether standard output is a terminal, which must not be written to as it comes. */
  readonly isTerminal: boolean
  /** How many characters a line of standard output holds; infinite where it is no terminal. */
  readonly columns: number
  readonly hasColours: boolean
  /** Whether somebody watches standard error, so that a line of progress may be written over. */
  readonly isWatched: boolean
  /** Results, a line or more, to standard output. */
  readonly print: (text: string) => void
  /** Standard output for what is not made of lines; resolves when there is room for more. */
  readonly write: (bytes: Uint8Array) => Promise<void>
  /** Progress and errors, a line or more, to standard error. */
  readonly printError: (text: string) => void
  /** Writes over the line of progress on standard error. */
  readonly overwrite: (line: string) => void
  /** The exit code of a command that says all it has to say without an error. */
  readonly exitWith: (code: number) => void
  /** A secret from standard input: asked for without an echo at a terminal, the first line of a pipe otherwise. */
  readonly readSecret: (question: string) => Promise<string>
  /** Whether somebody sits at standard input and can be asked. */
  readonly canAsk: boolean
  /** Aborted by Ctrl-C. A command that asks for it promises to end then; another one dies at once. */
  readonly interruption: () => AbortSignal
  readonly now: () => number
  /** A number from 0 to below 1, which spreads the pauses between attempts. */
  readonly random: () => number
}
