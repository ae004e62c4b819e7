import type { Worker } from 'node:cluster'

/** What `node:cluster` sends between a primary and a worker: each message has a number, which its answer names. */
interface ClusterMessage {
  readonly cmd?: string
  readonly seq?: number
  readonly ack?: number
}

interface Connection {
  close(): void
}

/**
 * Closes the connections that were handed to a worker which died before it took them. Node keeps them open for
 * ever: their clients would wait without end, and each would cost the primary a socket. They are not handed to
 * another worker, for the dead one may have read of them already.
 */
export function closeUntakenConnections({ process: child }: Worker): void {
  const untaken = new Map<number, Connection>()
  const send = child.send.bind(child) as (...message: unknown[]) => boolean
  child.send = (message: ClusterMessage, ...others: unknown[]): boolean => {
    const [connection] = others as [Connection | null | undefined]
    if (message.cmd === 'NODE_CLUSTER' && message.seq !== undefined && connection) {
      untaken.set(message.seq, connection)
    }
    return send(message, ...others)
  }
  child.on('internalMessage', ({ ack }: ClusterMessage) => {
    if (ack !== undefined) untaken.delete(ack)
  })
  let isDisconnected = false
  child.once('disconnect', () => (isDisconnected = true))
  // It has ended, and all that it said was heard.
  child.once('close', () => {
    for (const connection of untaken.values()) connection.close()
    untaken.clear()
    // Node forgets to say this while a connection is on its way, and the cluster would count on the dead worker.
    if (!isDisconnected) child.emit('disconnect')
  })
}
