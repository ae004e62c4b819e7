/** The code of an error of Node, such as `ENOENT`; `unknown` for other errors. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
}
