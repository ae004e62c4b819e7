import type { ServerResponse } from 'node:http'

/** Writes endlessly, as fast as it is read; resolves to the bytes written before the peer left. */
export function flood(response: ServerResponse): Promise<number> {
  const chunk = ' '.repeat(65_536)
  let bytes = 0
  return new Promise((resolve) => {
    const go = (): void => {
      while (!response.destroyed) {
        bytes += chunk.length
        if (response.write(chunk)) continue
        response.once('drain', go)
        return
      }
    }
    response.on('close', () => resolve(bytes))
    response.on('error', () => {})
    go()
  })
}

/** Writes a space every 20 milliseconds, until the peer leaves. */
export function drip(response: ServerResponse): void {
  response.flushHeaders()
  const timer = setInterval(() => response.write(' '), 20)
  response.on('close', () => clearInterval(timer))
}
