import { CommandError } from './exit-codes.ts'
import type { Io } from './io.ts'

/** Matches a Purser key anywhere in an arg. */
const keyText = /svc_(sand|prod)_[A-Za-z0-9]{8,}/

/** Names that other tools use for such a flag. */
const keyFlag = /^--?(api-?key|key|token|bearer|secret)(=|$)/i

/**
 * Throws a `CommandError` if the command line contains a key: every user of the machine can read it there,
 * and the shell saves it in its history.
 */
export function refuseKeys(words: readonly string[], { calledAs }: Pick<Io, 'calledAs'>): void {
  // The service has its own settings for keys, which its guide says to pass in another way.
  if (words[0] === 'serve') return
  if (!words.some((word) => keyFlag.test(word) || keyText.test(word))) return
  throw new CommandError(
    [
      'A key does not belong on the command line: every user of this machine can see it in the list of',
      'processes, and the shell saves it in its history. Set PURSER_API_KEY, or save it with',
      `${calledAs} profile add, which prompts for it or reads it from a pipe. If this was a real key, revoke it.`,
    ].join('\n'),
    'usage',
  )
}
