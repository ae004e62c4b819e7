/**
 * Characters that a terminal might interpret, or that hide text: control characters, direction marks,
 * invisible characters, lone surrogates. Joiners are allowed, because Persian, Hindi and many emoji need
 * them.
 */
const harmful = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** Escapes third-party text, such as a name, for the terminal. */
export function harmless(text: string): string {
  return text.replaceAll(harmful, (character) => escapes[character] ?? escapeOf(character))
}

/** The same for multi-line text: keeps line ends and tabs. */
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

/** A value as JSON that is safe for a terminal: the same document, escaped. */
export function harmlessJson(value: unknown, indent?: number): string {
  // Only within strings: outside of them, JSON has only line ends, and no tab with this indent.
  return JSON.stringify(value, null, indent).replaceAll(harmful, (character) => {
    if (character === '\n') return character
    return Array.from({ length: character.length }, (_, index) => {
      return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`
    }).join('')
  })
}
