/**
 * The body of a response, locked only when it is first read. Node cancels an unread body, which frees its connection, when
 * its response is garbage; this stream keeps the response. `explain` gives the error of an interrupted body.
 */
export function untouchedBody(
  response: Response,
  explain = (cause: unknown) => cause,
): ReadableStream<Uint8Array> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  const touch = () => (reader ??= (response.body as ReadableStream<Uint8Array>).getReader())
  return new ReadableStream(
    {
      pull: async (controller) => {
        try {
          const { done, value } = await touch().read()
          if (done) controller.close()
          else controller.enqueue(value)
        } catch (cause) {
          controller.error(explain(cause))
        }
      },
      cancel: (reason) => touch().cancel(reason),
    },
    { highWaterMark: 0 },
  )
}
