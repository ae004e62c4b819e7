import { useLayoutEffect, useRef, useState, type RefObject } from 'react'

/** The current width in pixels of the element with the ref. */
export function useWidth<Of extends HTMLElement>(): [RefObject<Of | null>, number] {
  const ref = useRef<Of>(null)
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const element = ref.current
    if (!element) return undefined
    setWidth(element.clientWidth)
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return [ref, width]
}
