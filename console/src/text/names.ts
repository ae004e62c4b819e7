/** Whether a name can be typed as it reads: a line of at most forty letters, without spaces that nobody sees. */
export function isTypedEasily(name: string): boolean {
  return (
    !/[\p{Cc}\p{Cf}]|\[U\+/u.test(name) &&
    name !== '' &&
    name.length <= 40 &&
    name === name.trim().replace(/\s+/g, ' ')
  )
}

/**
 * Whether a word was typed, in any case: the keyboard of a phone begins with a capital, ends with a space, and makes
 * apostrophes and hyphens of its own.
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
