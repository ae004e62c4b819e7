/** Words in placeholder keys. Keys such as `test_key…` stay possible, for tests in CI. */
const commonWords =
  /password|passwort|passphrase|secret|changeme|change|letmein|welcome|qwerty|admin|root|default|example|sample|local|sandbox|production|prod|staging|purser|operator|owner|bootstrap|token|demo|foo|bar/gi

/** Keys of this length are always accepted, so that long placeholders in tests need no other setting. */
const alwaysLongEnough = 32

/** Min length of a shorter key, counting each common word and each run as one character. */
const fewestUnforeseen = 6

/** Min number of different characters in a proof secret. */
const fewestDifferent = 8

/**
 * Whether a chosen key, without its prefix, can be guessed: it is shorter than 32 characters, and mostly made
 * of common words, repeated characters and sequences.
 */
export function isGuessableKey(text: string): boolean {
  return text.length < alwaysLongEnough && unforeseen(text) < fewestUnforeseen
}

/** Whether a proof secret can be guessed: it has fewer than 8 different characters, as `secretsecret…` has. */
export function isGuessableSecret(text: string): boolean {
  return new Set(text).size < fewestDifferent
}

/**
 * The length of a text, counting each common word, and each run such as `aaaa`, `1234` or `dcba`, as one
 * character.
 */
function unforeseen(text: string): number {
  const rest = text.replaceAll(commonWords, '\u0000')
  let count = 0
  let lastStep: number | undefined
  for (let index = 0; index < rest.length; index++) {
    const step = index === 0 ? undefined : rest.charCodeAt(index) - rest.charCodeAt(index - 1)
    const isRun = step !== undefined && Math.abs(step) <= 1 && (lastStep === undefined || step === lastStep)
    if (!isRun) count++
    lastStep = isRun ? step : undefined
  }
  return count
}
