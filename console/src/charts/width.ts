import { useLayoutEffect, useRef, useState, type RefObject } from 'react'

/** The width in pixels of the element that the ref is given to, as it changes. */
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
