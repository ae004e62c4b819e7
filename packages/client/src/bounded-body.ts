/** The body of a response as text. If it has more than `maxBytes`, releases the connection and rejects. */
export async function textUpTo(response: Response, maxBytes: number): Promise<string> {
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  for (;;) {
    const chunk = await reader?.read()
    if (!chunk || chunk.done) return text + decoder.decode()
    size += chunk.value.length
    if (size > maxBytes) {
      // Not awaited: the peer may never confirm.
      void reader?.cancel().catch(() => {})
      throw new Error(`the response has more than ${maxBytes} bytes; is this the URL of Purser?`)
    }
    text += decoder.decode(chunk.value, { stream: true })
  }
}
