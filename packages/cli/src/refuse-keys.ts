import { CommandError } from './exit-codes.ts'
import type { Surroundings } from './surroundings.ts'

/** What a key of Purser looks like, wherever it stands in a word. */
const keyText = /svc_(sand|prod)_[A-Za-z0-9]{8,}/

/** How others call the flag that is not there. */
const keyFlag = /^--?(api-?key|key|token|bearer|secret)(=|$)/i

/**
 * Throws a `CommandError` when a key stands on the command line: every user of the machine can read it there, and
 * the shell writes it into its history.
 */
export function refuseKeys(words: readonly string[], { calledAs }: Pick<Surroundings, 'calledAs'>): void {
  // The service has settings of its own for keys, which its guide advises to give otherwise.
  if (words[0] === 'serve') return
  if (!words.some((word) => keyFlag.test(word) || keyText.test(word))) return
  throw new CommandError(
    [
      'A key does not belong on the command line: every user of this machine can see it in the list of',
      'processes, and the shell keeps it in its history. Set PURSER_API_KEY, or keep it with',
      `${calledAs} profile add, which asks for it or reads it from a pipe. If a real key stood there, revoke it.`,
    ].join('\n'),
    'usage',
  )
}
