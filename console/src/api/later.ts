import { useEffect, useState } from 'react'

/** The value once it has not changed for so many milliseconds. */
export function useLater<Value>(value: Value, restMs: number): Value {
  const [later, setLater] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setLater(value), restMs)
    return () => clearTimeout(timer)
  }, [value, restMs])
  return later
}
