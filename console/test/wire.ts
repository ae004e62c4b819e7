import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** The wire between a browser and a service: it can be cut, and mended. */
export interface Wire {
  /** Where the browser finds the service, as long as the wire holds. */
  readonly url: string
  /** Ends every connection; who asks for a new one is refused. */
  readonly cut: () => Promise<void>
  readonly mend: () => Promise<void>
}

/** Lays a wire to a service; it is taken away when the test ends. */
export async function layWire(
  context: { readonly after: (stop: () => Promise<void>) => void },
  service: { readonly url: string },
): Promise<Wire> {
  const target = Number(new URL(service.url).port)
  const open = new Set<Socket>()
  let server: Server | undefined
  let port = 0

  function pass(browserSide: Socket): void {
    const serviceSide = connect(target, '127.0.0.1')
    for (const [from, to] of [
      [browserSide, serviceSide],
      [serviceSide, browserSide],
    ] as const) {
      open.add(from)
      from.setNoDelay(true)
      from.pipe(to)
      from.on('error', () => to.destroy()).on('close', () => open.delete(from))
    }
  }

  async function mend(): Promise<void> {
    const mended = createServer(pass)
    await new Promise<void>((resolve, reject) => {
      mended.once('error', reject).listen(port, '127.0.0.1', resolve)
    })
    port = (mended.address() as AddressInfo).port
    server = mended
  }

  async function cut(): Promise<void> {
    const closing = server
    server = undefined
    for (const socket of open) socket.destroy()
    if (closing) await new Promise((resolve) => closing.close(resolve))
  }

  await mend()
  context.after(cut)
  return { url: `http://127.0.0.1:${port}`, cut, mend }
}
