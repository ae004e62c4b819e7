/** The text, or its first `maxLength` characters and an ellipsis. */
export function bounded(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}…`
}

/** A URL for display: without its fragment, which no server sees, and with special characters escaped. */
export function shownUrl(text: string): string {
  if (!URL.canParse(text)) return quoted(text, maxUrlLength)
  const url = new URL(text)
  url.hash = ''
  return bounded(url.href, maxUrlLength)
}

const maxUrlLength = 2_048

/** The text in quotes, truncated, on one line; invisible and text-reversing characters are escaped. */
export function quoted(text: string, maxLength: number): string {
  return JSON.stringify(bounded(text, maxLength)).replaceAll(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}
