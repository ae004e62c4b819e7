import { once } from 'node:events'
import { connect } from 'node:net'

/** Sends the head of a POST, waits until it is accepted, and disconnects without a body. */
export async function sendSlowly(url: string, path: string, key: string): Promise<void> {
  const { hostname, port, host } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n`,
  )
  // Node says "100 Continue" when it has read the head.
  await once(socket, 'data')
  socket.destroy()
}
