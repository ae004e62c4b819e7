import type { FeedEvent, NamedTransaction } from '@purser/client'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'

import { statusKey } from './connection.tsx'
import { useSeen } from './seen.tsx'
import { expireSession } from './session.ts'

/** Max transactions in the feed. */
const shownTransactions = 40

/** Min interval for refetching figures while payments arrive. */
const refreshMs = 1_500

/** Reconnect delays: the first, and the max. */
const reopenMs = { first: 1_000, longest: 4_000 }

type FeedState = 'connecting' | 'live' | 'lost'

/** The latest transactions, newest first, and the state of the connection. */
export function useFeed(): { readonly transactions: readonly NamedTransaction[]; readonly state: FeedState } {
  const { purser, environment } = useSeen()
  const queries = useQueryClient()
  const [transactions, setTransactions] = useState<readonly NamedTransaction[]>([])
  const [state, setState] = useState<FeedState>('connecting')

  useEffect(() => {
    const closing = new AbortController()
    const { signal } = closing
    let refresh: ReturnType<typeof setTimeout> | undefined
    let lastEventId: string | undefined

    function readAnew() {
      refresh = undefined
      void queries.invalidateQueries({ queryKey: [environment] })
    }

    /** Reads one connection to its end; true if the session is over, so that reconnecting is useless. */
    async function read(): Promise<boolean> {
      for await (const message of purser.console.feed({ lastEventId, query: { environment }, signal })) {
        if (message.type === 'end') return message.reason === 'signed_out'
        setState('live')
        setTransactions((before) => newestFirst(before, message))
        // The first message has existing transactions; later ones change the figures.
        if (lastEventId !== undefined) refresh ??= setTimeout(readAnew, refreshMs)
        lastEventId = message.id
      }
      return false
    }

    async function keepReading() {
      for (let pauseMs = reopenMs.first; !signal.aborted; pauseMs = Math.min(pauseMs * 2, reopenMs.longest)) {
        const heard = lastEventId
        const isOver = await read().catch(() => false)
        if (signal.aborted) return
        setState('lost')
        void queries.invalidateQueries({ queryKey: statusKey(environment) })
        if (isOver) {
          expireSession(queries)
          return
        }
        if (lastEventId !== heard) pauseMs = reopenMs.first
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
      }
    }

    void keepReading()
    return () => {
      closing.abort()
      clearTimeout(refresh)
    }
  }, [purser, environment, queries])
  return { transactions, state }
}

/** New transactions, followed by the previous ones, unless there is a gap between them. */
function newestFirst(before: readonly NamedTransaction[], event: FeedEvent): readonly NamedTransaction[] {
  const arrived = event.transactions.toReversed()
  if (event.has_gap) return arrived.slice(0, shownTransactions)
  const ids = new Set(arrived.map(({ id }) => id))
  return [...arrived, ...before.filter(({ id }) => !ids.has(id))].slice(0, shownTransactions)
}
