/** The reason why a text is unsafe to display as part of an email address, or undefined. */
export function errorInMailText(text: string): string | undefined {
  const unsafe = text.match(/^\p{M}|[\p{Z}\p{C}]/gu)
  return unsafe ? `The email address contains unsafe characters: ${listed(unsafe)}.` : undefined
}

/** Max different characters listed in a message. */
const maxListed = 20

/** The characters as listed in a message, each once; invisible ones by code point. */
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
