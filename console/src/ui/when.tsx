import { useEffect, useState } from 'react'

import { clockTime, distance } from '../text/times.ts'

/** A moment: how far away it is, and on hover exactly when. */
export function When({ at }: { readonly at: string }) {
  useMinutes()
  return (
    <time dateTime={at} title={clockTime(at)} className="figures">
      {distance(at, Date.now())}
    </time>
  )
}

/** A moment by the clock and the calendar. */
export function Moment({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={at} className="figures">
      {clockTime(at)}
    </time>
  )
}

/** Renders anew each half minute, so that "2 min ago" stays true. */
function useMinutes(): void {
  const [, setTick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setTick((tick) => tick + 1), 30_000)
    return () => clearInterval(timer)
  }, [])
}
