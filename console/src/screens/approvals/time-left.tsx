import { useEffect, useState } from 'react'

import { useConnection } from '../../api/connection.tsx'
import { clockTime } from '../../text/times.ts'
import { timeLeftInWords } from './approval-words.ts'

/** Whether the time is over by the service's clock, which may differ from this machine's. */
export function useIsOver(at: string): boolean {
  return !(useLeftMs(at) > 0)
}

/** How long a request can still be decided. */
export function TimeLeft({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={clockTime(at)} className="figures">
      {timeLeftInWords(useLeftMs(at))}
    </time>
  )
}

function useLeftMs(at: string): number {
  const { clockAheadMs } = useConnection()
  const [nowMs, setNowMs] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  return Date.parse(at) - (nowMs + clockAheadMs)
}
