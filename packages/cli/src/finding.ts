/** One thing that `purser doctor` looked at: `warn` will do, `fail` will not; both say what would help. */
export interface Finding {
  readonly mark: 'ok' | 'warn' | 'fail'
  readonly subject: string
  readonly finding: string
}
