import type { Worker } from 'node:cluster'

/** The messages of `node:cluster` between primary and worker: each has a number, which its reply repeats. */
interface ClusterMessage {
  readonly cmd?: string
  readonly seq?: number
  readonly ack?: number
  /** Whether the worker took the connection that it acknowledges; it does not if it has closed its port. */
  readonly accepted?: boolean
}

interface Connection {
  close(): void
}

/** How long a refused connection may wait for another worker, which is free as soon as it has taken its previous one. */
const refusedTimeoutMs = 3_000

/** The connections that a worker refused and that no other has been handed since, with their timeouts. */
const refused = new Map<Connection, NodeJS.Timeout>()

/**
 * Closes connections that were handed to a worker that died before accepting them, or refused by all workers since they
 * are stopping. Node keeps them open forever: their clients would wait, and each would cost the primary a socket. Those of
 * a dead worker are not handed to another one, because it may have read from them.
 */
export function closeUntakenConnections({ process: child }: Worker): void {
  const untaken = new Map<number, Connection>()
  const send = child.send.bind(child) as (...message: unknown[]) => boolean
  child.send = (message: ClusterMessage, ...others: unknown[]): boolean => {
    const [connection] = others as [Connection | null | undefined]
    if (message.cmd === 'NODE_CLUSTER' && message.seq !== undefined && connection) {
      untaken.set(message.seq, connection)
      clearTimeout(refused.get(connection))
      refused.delete(connection)
    }
    return send(message, ...others)
  }
  // Before Node's own listener, which hands a refused connection to another worker.
  child.prependListener('internalMessage', ({ ack, accepted }: ClusterMessage) => {
    const connection = ack === undefined ? undefined : untaken.get(ack)
    if (ack === undefined || connection === undefined) return
    untaken.delete(ack)
    if (accepted === false) refused.set(connection, setTimeout(close, refusedTimeoutMs, connection))
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

function close(connection: Connection): void {
  refused.delete(connection)
  connection.close()
}
