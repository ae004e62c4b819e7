/** Words that people use for keys when they just want to start. `test_key` and the like stay possible, for tests in CI. */
const commonWords =
  /password|passwort|passphrase|secret|changeme|change|letmein|welcome|qwerty|admin|root|default|example|sample|local|sandbox|production|prod|staging|purser|operator|owner|bootstrap|token|demo|foo|bar/gi

/** A key of this length is taken whatever it is made of, so that a long placeholder of a test needs no other setting. */
const alwaysLongEnough = 32

/** The fewest characters of a shorter key, when each common word and each run counts as one. */
const fewestUnforeseen = 6

/** The fewest different characters of a proof secret. */
const fewestDifferent = 8

/**
 * Whether a chosen key, without its prefix, can be guessed: it is shorter than 32 characters, and made of little else than
 * common words, repeated characters and sequences.
 */
export function isGuessableKey(text: string): boolean {
  return text.length < alwaysLongEnough && unforeseen(text) < fewestUnforeseen
}

/** Whether a proof secret can be guessed: it has fewer than 8 different characters, as `secretsecret…` has. */
export function isGuessableSecret(text: string): boolean {
  return new Set(text).size < fewestDifferent
}

/** How many characters a text has when each common word, and each run such as `aaaa`, `1234` or `dcba`, counts as one. */
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
