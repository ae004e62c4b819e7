/**
 * Whether a Content-Type header declares JSON: `application/json` or `application/…+json`, case-insensitively, with
 * any parameters. A body without the header does not count as JSON.
 */
export function isJsonContentType(contentType: string | undefined): boolean {
  // Most clients send exactly this.
  if (contentType === 'application/json') return true
  if (contentType === undefined) return false
  const [mediaType = ''] = contentType.split(';', 1)
  return /^application\/(?:json|[^/]*\+json)$/.test(mediaType.trim().toLowerCase())
}
