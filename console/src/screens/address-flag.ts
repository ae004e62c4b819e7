import { useSearchParams } from 'react-router'

/** A dialog that stands in the address, as `?new`: the palette and other screens lead to it by a link. */
export function useAddressFlag(name: string) {
  const [parameters, setParameters] = useSearchParams()
  function change(isSet: boolean) {
    const changed = new URLSearchParams(parameters)
    if (isSet) changed.set(name, '')
    else changed.delete(name)
    // The step back closes what was opened.
    setParameters(changed, { replace: !isSet })
  }
  return { isSet: parameters.has(name), set: () => change(true), clear: () => change(false) }
}
