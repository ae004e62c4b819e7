/** A challenge is far smaller; a longer body is something else and is not read. */
const maxPeekedBytes = 16_384

const peekTimeoutMs = 10_000

/**
 * The JSON of a short body, which stays readable; undefined if it is not JSON, too long, or incomplete in
 * time.
 */
export async function peekJson(response: Response, timeoutMs = peekTimeoutMs): Promise<unknown> {
  if (!/\bjson\b/i.test(response.headers.get('content-type') ?? '') || response.bodyUsed) return undefined
  const reader = response.clone().body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  // A pending read ends as if the body had ended.
  const timer = setTimeout(() => void reader?.cancel().catch(() => {}), timeoutMs)
  try {
    for (;;) {
      const chunk = await reader?.read()
      if (!chunk || chunk.done) return JSON.parse(text + decoder.decode())
      size += chunk.value.length
      if (size > maxPeekedBytes) return undefined
      text += decoder.decode(chunk.value, { stream: true })
    }
  } catch {
    return undefined
  } finally {
    clearTimeout(timer)
    // Not awaited: cancelling a clone completes only when the original is read or cancelled too.
    void reader?.cancel().catch(() => {})
  }
}
