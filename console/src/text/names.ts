/** Whether a name can be typed as shown: one line of at most forty characters, without invisible spaces. */
export function isTypedEasily(name: string): boolean {
  return (
    !/[\p{Cc}\p{Cf}]|\[U\+/u.test(name) &&
    name !== '' &&
    name.length <= 40 &&
    name === name.trim().replace(/\s+/g, ' ')
  )
}

/**
 * Whether the input matches a word, ignoring case: phone keyboards capitalize, append spaces, and substitute
 * apostrophes and hyphens.
 */
export function isSameWord(typed: string, word: string): boolean {
  return normalized(typed) === normalized(word)
}

function normalized(text: string): string {
  return text
    .normalize('NFKC')
    .replaceAll(/[\u2018\u2019]/g, "'")
    .replaceAll(/[\u201C\u201D]/g, '"')
    .replaceAll(/[\u2010-\u2015]/g, '-')
    .trim()
    .replaceAll(/\s+/g, ' ')
    .toLowerCase()
}
