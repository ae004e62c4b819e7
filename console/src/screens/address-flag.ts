import { useSearchParams } from 'react-router'

/**
 * A dialog whose state is in the URL, such as `?new`, so that the palette and other screens can link to it.
 */
export function useAddressFlag(name: string) {
  const [parameters, setParameters] = useSearchParams()
  function change(isSet: boolean) {
    // A change that ends later must not lead back to this screen.
    if (!isSet && !new URLSearchParams(location.search).has(name)) return
    const changed = new URLSearchParams(parameters)
    if (isSet) changed.set(name, '')
    else changed.delete(name)
    // The back button closes the dialog.
    setParameters(changed, { replace: !isSet })
  }
  return { isSet: parameters.has(name), set: () => change(true), clear: () => change(false) }
}
