import type { Worker } from 'node:cluster'

/** The messages of `node:cluster` between primary and worker: each has a number, which its reply repeats. */
interface ClusterMessage {
  readonly cmd?: string
  readonly seq?: number
  readonly ack?: number
}

interface Connection {
  close(): void
}

/**
 * Closes connections that were handed to a worker that died before accepting them. Node keeps them open forever:
 * their clients would wait, and each would cost the primary a socket. They are not handed to another worker, because
 * the dead one may have read from them.
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
  // The worker has exited and all its messages have arrived.
  child.once('close', () => {
    for (const connection of untaken.values()) connection.close()
    untaken.clear()
    // Node does not report this while a connection is being handed over, and the cluster would keep using the dead
    // worker.
    if (!isDisconnected) child.emit('disconnect')
  })
}
