import { settingFlags } from './settings.ts'

/**
 * Variables that other parts of this project read, and that are therefore allowed in the same environment or
 * `.env` file: the command line, the MCP server, a shop, the examples, the tests and the bench.
 */
export const namesOfOthers = [
  'PURSER_AGENT_ID',
  'PURSER_AGENT_KEY',
  'PURSER_AGENT_KEY_FILE',
  'PURSER_API_KEY',
  'PURSER_BENCH_DIR',
  'PURSER_BENCH_POSTGRES',
  'PURSER_KEY',
  'PURSER_MANDATE_ID',
  'PURSER_MCP_ASK_ABOVE',
  'PURSER_MCP_PRIVATE_HOSTS',
  'PURSER_MCP_STATE',
  'PURSER_MCP_TOKEN',
  'PURSER_MCP_TOKEN_FILE',
  'PURSER_MERCHANT_KEY',
  'PURSER_PRODUCTION_KEY',
  'PURSER_SANDBOX_KEY',
  'PURSER_TEST_CLOCK',
  'PURSER_TEST_IMAGE',
  'PURSER_TEST_KILLS',
  'PURSER_TEST_POSTGRES',
  'PURSER_TEST_POSTGRES_DISTRIBUTE',
  'PURSER_TEST_SEED',
  'PURSER_URL',
] as const

/** Every variable that the service reads, including those with the path of a secret file. */
export function settingNames(): string[] {
  return settingFlags().flatMap(({ name, isSecret }) => (isSecret ? [name, `${name}_FILE`] : [name]))
}

/** Errors in variable names: a misspelled setting would otherwise be ignored. */
export function nameFaults(names: readonly string[]): string[] {
  const settings = settingNames()
  const known: readonly string[] = [...settings, ...namesOfOthers]
  return names
    .filter((name) => name.startsWith('PURSER_') && !known.includes(name))
    .map((name) => {
      const near = nearestName(name, settings)
      return near === undefined
        ? `${name} is not a setting; remove it, or see --help for all settings`
        : `${name} is not a setting; did you mean ${near}?`
    })
}

/** Max edit distance of a suggested name. */
const nearLetters = 2

/** The probably intended name: a few letters differ, or it has extra characters at the end. */
function nearestName(written: string, names: readonly string[]): string | undefined {
  const [nearest] = names
    .map((name) => ({ name, letters: lettersBetween(written, name) }))
    .filter(({ letters }) => letters <= nearLetters)
    .sort((one, other) => one.letters - other.letters)
  return nearest?.name ?? names.findLast((name) => written.startsWith(`${name}_`))
}

/** The Levenshtein distance of two texts. */
function lettersBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [index, letter] of one.split('').entries()) {
    const next = [index + 1]
    for (const [column, otherLetter] of other.split('').entries()) {
      const changed = (row[column] ?? 0) + (letter === otherLetter ? 0 : 1)
      next.push(Math.min(changed, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1))
    }
    row = next
  }
  return row[other.length] ?? 0
}

/** The line numbers of an `.env` file that set nothing, and are neither empty nor comments. */
export function strayLines(text: string): number[] {
  return [...linesOf(text)].flatMap(({ line, value }) => (value === undefined ? [line] : []))
}

/** The line numbers of settings whose value ends before a # that follows it directly, and would be read as a comment. */
export function cutLines(text: string): number[] {
  return [...linesOf(text)].flatMap(({ line, name, value = '' }) => {
    const isQuoted = /^[ \t]*["'`]/.test(value)
    const isCut = !isQuoted && /(?:^|[^\s#])#/.test(value.slice(0, value.indexOf('#') + 1))
    return isCut && name?.startsWith('PURSER_') ? [line] : []
  })
}

interface Line {
  readonly line: number
  readonly name: string | undefined
  /** What follows the equals sign on this line; undefined if it sets nothing. */
  readonly value: string | undefined
}

/** The lines of an `.env` file, except empty ones, comments, and further lines of a quoted value. */
function* linesOf(text: string): Iterable<Line> {
  const lines = text.split('\n')
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? ''
    if (/^\s*(#|$)/.test(line)) continue
    const [, name, value] = /^[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*=(.*)$/s.exec(line) ?? []
    yield { line: index + 1, name, value }
    if (value !== undefined) index += linesToQuote(value.trimStart(), lines.slice(index + 1))
  }
}

/** How many more lines a quoted value spans; 0 if its quote is closed on the line, or never. */
function linesToQuote(value: string, following: readonly string[]): number {
  const quote = /^["'`]/.exec(value)?.[0]
  if (quote === undefined || value.includes(quote, 1)) return 0
  return following.findIndex((line) => line.includes(quote)) + 1
}
