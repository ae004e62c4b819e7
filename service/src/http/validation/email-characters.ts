/** Why a text would not be safe to show as part of an e-mail address, or undefined. */
export function faultInMailText(text: string): string | undefined {
  const unsafe = text.match(/^\p{M}|[\p{Z}\p{C}]/gu)
  return unsafe ? `The email address contains unsafe characters: ${listed(unsafe)}.` : undefined
}

/** How many different characters a sentence shows. */
const maxListed = 20

/** The characters as a sentence shows them, each once: those without a shape by their number. */
export function listed(characters: readonly string[]): string {
  const all = [...new Set(characters.map(shown))].sort()
  return all.length > maxListed ? `${all.slice(0, maxListed).join(', ')}, …` : all.join(', ')
}

function shown(character: string): string {
  if (character === '\\' || character === "'") return `"${character}"`
  if (/[\p{L}\p{N}\p{P}\p{S}]/u.test(character)) return `'${character}'`
  if (character === ' ') return 'SPACE'
  return `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`
}
