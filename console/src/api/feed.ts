import type { FeedEvent, Transaction } from '@purser/client'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'

import { useSeen } from './seen.tsx'

/** Most transactions that the feed shows. */
const shownTransactions = 40

/** At most this often the figures are read anew while payments arrive. */
const refreshMs = 1_500

type FeedState = 'connecting' | 'live' | 'lost'

/** The latest transactions, newest first, as they happen; and whether more are to be expected. */
export function useFeed(): { readonly transactions: readonly Transaction[]; readonly state: FeedState } {
  const { purser, environment } = useSeen()
  const queries = useQueryClient()
  const [transactions, setTransactions] = useState<readonly Transaction[]>([])
  const [state, setState] = useState<FeedState>('connecting')

  useEffect(() => {
    let refresh: ReturnType<typeof setTimeout> | undefined
    let isFirst = true
    // The browser reconnects by itself, and says after which message.
    const source = new EventSource(purser.console.feedAddress({ environment }))
    source.addEventListener('open', () => setState('live'))
    source.addEventListener('error', () => setState('lost'))
    source.addEventListener('transactions', ({ data }: MessageEvent<string>) => {
      const event = JSON.parse(data) as FeedEvent
      setTransactions((before) => newestFirst(before, event))
      if (!isFirst) refresh ??= setTimeout(readAnew, refreshMs)
      isFirst = false
    })
    source.addEventListener('end', ({ data }: MessageEvent<string>) => {
      setState('lost')
      if ((JSON.parse(data) as { reason: string }).reason !== 'signed_out') return
      source.close()
      queries.setQueryData(['session'], null)
    })
    function readAnew() {
      refresh = undefined
      void queries.invalidateQueries({ queryKey: [environment] })
    }
    return () => {
      source.close()
      clearTimeout(refresh)
    }
  }, [purser, environment, queries])
  return { transactions, state }
}

function newestFirst(before: readonly Transaction[], event: FeedEvent): readonly Transaction[] {
  const arrived = event.transactions.toReversed()
  const ids = new Set(arrived.map(({ id }) => id))
  return [...arrived, ...before.filter(({ id }) => !ids.has(id))].slice(0, shownTransactions)
}
