import { useEffect, useState } from 'react'

import { useConnection, useNow } from '../api/connection.tsx'
import { clockMinute, clockTime, distance } from '../text/times.ts'

/** A relative time. */
export function When({ at }: { readonly at: string }) {
  useMinutes()
  const now = useNow()
  return <Time at={at} text={distance(at, now())} />
}

/** The same for what a test clock does not move: keys and sessions. */
export function RealWhen({ at }: { readonly at: string }) {
  useMinutes()
  const now = useNow()
  const { testClockSeconds } = useConnection()
  return <Time at={at} text={distance(at, now() - testClockSeconds * 1_000)} />
}

/** A date and time, to the second. */
export function Moment({ at }: { readonly at: string }) {
  return <Time at={at} text={clockTime(at)} />
}

/** A date and time, to the minute, for lists. */
export function Minute({ at }: { readonly at: string }) {
  return <Time at={at} text={clockMinute(at)} />
}

/** The tooltip: the exact local time, and the service's timestamp. */
function Time({ at, text }: { readonly at: string; readonly text: string }) {
  return (
    <time dateTime={at} title={`${clockTime(at)} (${at})`} className="figures">
      {text}
    </time>
  )
}

/** Re-renders every half minute, so that "2 minutes ago" stays true. */
function useMinutes(): void {
  const [, setTick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setTick((tick) => tick + 1), 30_000)
    return () => clearInterval(timer)
  }, [])
}
