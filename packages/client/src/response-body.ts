/** The body of a response as a stream; an empty one where there is none. */
export function bodyOf({ body }: Response): ReadableStream<Uint8Array> {
  return body ?? new ReadableStream({ start: (controller) => controller.close() })
}
