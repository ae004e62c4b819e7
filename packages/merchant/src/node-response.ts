import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'

/** Whether the connection of a response, or its HTTP/2 stream, is closed. */
export function isClosed(response: ServerResponse): boolean {
  const stream = streamOf(response)
  return stream ? stream.destroyed || stream.closed : response.destroyed || response.closed
}

/**
 * Whether the complete response was handed to the operating system. To be called on `finish`: Node also emits it for a
 * response that it discards, and then the socket is already detached.
 */
export function isWhole(response: ServerResponse): boolean {
  const stream = streamOf(response)
  if (!stream) return response.socket?.destroyed !== true
  return stream.writableFinished && !stream.aborted && stream.rstCode === 0
}

/**
 * Whether the customer closed a connection or sent invalid bytes, or the network failed. It also looks so after a handler
 * has destroyed its response with an error, or its HTTP/2 stream.
 */
export function isClosedFromOutside(response: ServerResponse, socket: ServerResponse['socket']): boolean {
  if (streamOf(response)) return isClosed(response)
  return socket === null || socket.readableEnded || socket.errored !== null
}

/**
 * Keeps the connection of a complete response that has not left yet, although it is destroyed without an error: Express
 * does so when a handler fails after it has ended its response. Returns how to stop; then the connection is closed once
 * the response has left.
 */
export function keepConnection(response: ServerResponse): () => void {
  const { socket } = response
  if (!socket || streamOf(response)) return () => undefined
  const { destroy } = socket
  let isDestroyed = false
  socket.destroy = (error) => {
    if (error || isClosedFromOutside(response, socket)) return destroy.call(socket, error)
    isDestroyed = true
    return socket
  }
  return () => {
    socket.destroy = destroy
    if (isDestroyed) response.once('finish', () => socket.destroy())
  }
}

/** The stream of a response over HTTP/2, which has neither `destroyed` nor `closed`. */
export function streamOf(response: ServerResponse): ServerHttp2Stream | undefined {
  return (response as { readonly stream?: ServerHttp2Stream }).stream
}

/** Replaces all headers by those that were set before a handler ran. */
export function resetHeaders(response: ServerResponse, earlier: Readonly<OutgoingHttpHeaders>): void {
  for (const name of response.getHeaderNames()) response.removeHeader(name)
  setHeaders(response, earlier)
}

/** The headers of `writeHead`, which may be an object, a list of pairs, or a flat list. */
export function setHeaders(response: ServerResponse, headers: unknown): void {
  if (typeof headers !== 'object' || headers === null) return
  if (!Array.isArray(headers)) {
    for (const [name, value] of Object.entries(headers as Record<string, OutgoingHttpHeader | undefined>)) {
      if (value !== undefined) response.setHeader(name, value)
    }
    return
  }
  const flat = (headers as readonly (string | readonly string[])[]).flat()
  const names = new Set<string>()
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const [name = '', value = ''] = flat.slice(index, index + 2)
    if (names.has(name.toLowerCase())) response.appendHeader(name, value)
    else response.setHeader(name, value)
    names.add(name.toLowerCase())
  }
}
