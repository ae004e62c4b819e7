import { codeOf } from '../store/error-code.ts'

/**
 * Lets the service outlive whoever reads what it says: a reader that went away, or a disk that is full, must
 * not break off what was accepted. Only errors of the two streams are taken, so no other fault is hidden. Of
 * standard output the other stream tells, once; of standard error nobody is left to be told.
 */
export function outliveReaders(): void {
  // A command ends when nobody reads its result; the service does not.
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error')
  let isTold = false
  process.stdout.on('error', (error) => {
    if (isTold) return
    isTold = true
    console.error(`Standard output cannot be written any more (${codeOf(error)}); the service goes on.`)
  })
  process.stderr.on('error', () => undefined)
}
