/** The short code that Node, SQLite and PostgreSQL put on their errors, such as EACCES or 40001. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
}
