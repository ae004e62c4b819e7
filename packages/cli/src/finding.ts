/** The result of one check of `purser doctor`; `warn` and `fail` suggest a fix. */
export interface Finding {
  readonly mark: 'ok' | 'warn' | 'fail'
  readonly subject: string
  readonly finding: string
}
