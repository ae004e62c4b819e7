/** A challenge is far smaller; a body that is longer is somebody else's and is left alone. */
const maxPeekedBytes = 16_384

const peekTimeoutMs = 10_000

/**
 * The JSON at the beginning of a short body, which stays readable; undefined when it is none, too long, or not whole in
 * time.
 */
export async function peekJson(response: Response, timeoutMs = peekTimeoutMs): Promise<unknown> {
  if (!/\bjson\b/i.test(response.headers.get('content-type') ?? '') || response.bodyUsed) return undefined
  const reader = response.clone().body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  // A read that waits ends as if the body did.
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
    // Not awaited: a copy's cancelling is done only when the original is read or cancelled too.
    void reader?.cancel().catch(() => {})
  }
}
