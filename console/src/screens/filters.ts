import { useMemo } from 'react'
import { useSearchParams } from 'react-router'

import { useLater } from '../api/later.ts'

/** Typing rests this long before a list is asked for. */
const restMs = 200

/** Filters that live in the address: a link to a filtered list shows the same list. */
export function useFilters<const Name extends string>(names: readonly Name[]) {
  const [parameters, setParameters] = useSearchParams()
  const text = parameters.toString()
  const values = useMemo(() => {
    const given = new URLSearchParams(text)
    return Object.fromEntries(names.map((name) => [name, given.get(name) ?? ''])) as Record<Name, string>
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- the names are written down where the hook is called
  }, [text])
  function set(changes: Partial<Record<Name, string>>) {
    const changed = new URLSearchParams(parameters)
    for (const [name, value] of Object.entries<string | undefined>(changes)) {
      if (value) changed.set(name, value)
      else changed.delete(name)
    }
    setParameters(changed, { replace: true })
  }
  return {
    values,
    /** The values once typing rests: what a list is asked for. */
    settled: useLater(values, restMs),
    isFiltered: names.some((name) => values[name] !== ''),
    /** Changes some filters; an empty text removes one. The step back leads to the screen before, not to each letter. */
    set,
    clear: () => set(Object.fromEntries(names.map((name) => [name, ''])) as Record<Name, string>),
  }
}

/** The filters that are set, as the query of a list takes them. */
export function given<Values extends Record<string, string>>(values: Values): Partial<Values> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== '')) as Partial<Values>
}
