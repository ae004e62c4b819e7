import { codeOf } from '../store/error-code.ts'

/**
 * Keeps the service running when its output cannot be written: a closed pipe or a full disk must not interrupt
 * accepted requests. Handles only errors of the two streams, so no other error is hidden. Standard error reports a
 * failure of standard output once; a failure of standard error cannot be reported.
 */
export function outliveReaders(): void {
  // A command ends when nobody reads its output; the service does not.
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error')
  let isTold = false
  process.stdout.on('error', (error) => {
    if (isTold) return
    isTold = true
    console.error(`Standard output can no longer be written (${codeOf(error)}); the service continues.`)
  })
  process.stderr.on('error', () => undefined)
}
