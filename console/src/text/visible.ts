/** Characters that reorder surrounding text: overrides, embeddings and isolates, but not script marks. */
const reordering = /[\u202A-\u202E\u2066-\u2069]/g

/** The text with such characters escaped, so that it cannot be misread: `[U+202E]`. */
export function visibleText(text: string): string {
  return text.replaceAll(reordering, codeOf)
}

/** The texts of an answer that have only invisible characters: a link with such a name could not be seen. */
const invisible = /(?<=[:,[]")(?:[\s\u2800\p{Default_Ignorable_Code_Point}]|\\[nrt])+(?="(?!:))/gu

/** JSON with the strings escaped that are invisible, or could be misread. */
function visibleJson(json: string): string {
  return visibleText(
    json.replaceAll(invisible, (signs) =>
      signs.replaceAll(/\\[nrt]|./gsu, (sign) => codeOf(controls[sign] ?? sign)),
    ),
  )
}

const controls: Readonly<Record<string, string>> = { '\\n': '\n', '\\r': '\r', '\\t': '\t' }

function codeOf(sign: string): string {
  return `[U+${sign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}]`
}

/** A response with all its strings escaped, for every screen; other values stay unchanged. */
export async function visibleAnswer(answer: Response): Promise<Response> {
  const type = answer.headers.get('content-type') ?? ''
  const { status, statusText, headers, body } = answer
  if (body === null) return answer
  if (/^application\/(?:[\w.-]+\+)?json\b/.test(type)) {
    return new Response(visibleJson(await answer.text()), { status, statusText, headers })
  }
  if (!type.startsWith('text/event-stream')) return answer
  const visible = new TransformStream<string, string>({
    transform: (text, controller) => controller.enqueue(visibleJson(text)),
  })
  const stream = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>)
    .pipeThrough(visible)
    .pipeThrough(new TextEncoderStream())
  return new Response(stream, { status, statusText, headers })
}
