/** The body of a response as text. Rejects when it has more bytes, and lets go of the connection. */
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
      // Not awaited: the other side may never confirm.
      void reader?.cancel().catch(() => {})
      throw new Error(`the answer has more than ${maxBytes} bytes; does the address lead to Purser?`)
    }
    text += decoder.decode(chunk.value, { stream: true })
  }
}
