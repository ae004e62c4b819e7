import { useEffect, useState } from 'react'

import { clockMinute, clockTime, distance } from '../text/times.ts'

/** A moment by how far away it is. */
export function When({ at }: { readonly at: string }) {
  useMinutes()
  return <Time at={at} text={distance(at, Date.now())} />
}

/** A moment by the clock and the calendar, to the second. */
export function Moment({ at }: { readonly at: string }) {
  return <Time at={at} text={clockTime(at)} />
}

/** A moment by the clock and the calendar, to the minute: in lists, where rows are compared. */
export function Minute({ at }: { readonly at: string }) {
  return <Time at={at} text={clockMinute(at)} />
}

/** On hover: exactly when, by the reader's clock and as the service wrote it. */
function Time({ at, text }: { readonly at: string; readonly text: string }) {
  return (
    <time dateTime={at} title={`${clockTime(at)} (${at})`} className="figures">
      {text}
    </time>
  )
}

/** Renders anew each half minute, so that "2 minutes ago" stays true. */
function useMinutes(): void {
  const [, setTick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setTick((tick) => tick + 1), 30_000)
    return () => clearInterval(timer)
  }, [])
}
