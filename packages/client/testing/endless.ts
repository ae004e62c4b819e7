import type { ServerResponse } from 'node:http'

/** Writes as fast as it is read, without end; resolves to the bytes that it could write before the other side left. */
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

/** Writes a blank every 20 milliseconds, until the other side leaves. */
export function drip(response: ServerResponse): void {
  response.flushHeaders()
  const timer = setInterval(() => response.write(' '), 20)
  response.on('close', () => clearInterval(timer))
}
