/** A challenge is far smaller; a body that is longer is somebody else's and is left alone. */
const maxPeekedBytes = 16_384

/** The JSON at the beginning of a short body, which stays readable; undefined when it is none, or too long. */
export async function peekJson(response: Response): Promise<unknown> {
  if (!/\bjson\b/i.test(response.headers.get('content-type') ?? '') || response.bodyUsed) return undefined
  const reader = response.clone().body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
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
    // Not awaited: a copy's cancelling is done only when the original is read or cancelled too.
    void reader?.cancel().catch(() => {})
  }
}
