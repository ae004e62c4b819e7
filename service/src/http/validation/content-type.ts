/**
 * Whether a Content-Type header declares JSON: `application/json` or `application/…+json`, in capitals or
 * not, whatever its parameters. A body without the header is not taken for JSON.
 */
export function isJsonContentType(contentType: string | undefined): boolean {
  // Nearly every client sends exactly this.
  if (contentType === 'application/json') return true
  if (contentType === undefined) return false
  const [mediaType = ''] = contentType.split(';', 1)
  return /^application\/(?:json|[^/]*\+json)$/.test(mediaType.trim().toLowerCase())
}
