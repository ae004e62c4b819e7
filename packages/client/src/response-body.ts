/** The body of a response as a stream; empty if there is none. */
export function bodyOf({ body }: Response): ReadableStream<Uint8Array> {
  return body ?? new ReadableStream({ start: (controller) => controller.close() })
}
