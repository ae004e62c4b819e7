/**
 * What a terminal might obey, or what hides what is there: control characters, marks that turn the
 * direction of writing, invisible characters, lone surrogates. The joiners are left: words of Persian and
 * of Hindi, and many emoji, need them.
 */
const harmful = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** Text of others, such as a name, as it may be shown on a terminal: what is harmful becomes visible. */
export function harmless(text: string): string {
  return text.replaceAll(harmful, (character) => escapes[character] ?? escapeOf(character))
}

/** The same for several lines: the ends of lines stay, and so do tabs. */
export function harmlessLines(text: string): string {
  return text.replaceAll(harmful, (character) => {
    return character === '\n' || character === '\t' ? character : (escapes[character] ?? escapeOf(character))
  })
}

const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function escapeOf(character: string): string {
  const code = character.codePointAt(0) ?? 0
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
}

/** A value as JSON that a terminal obeys no more than a parser does: the same document, escaped. */
export function harmlessJson(value: unknown, indent?: number): string {
  // Within strings only: JSON itself has none of these but line ends, and no tab with this indent.
  return JSON.stringify(value, null, indent).replaceAll(harmful, (character) => {
    if (character === '\n') return character
    return Array.from({ length: character.length }, (_, index) => {
      return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`
    }).join('')
  })
}
