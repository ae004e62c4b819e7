import { useMemo } from 'react'
import { useSearchParams } from 'react-router'

import { useLater } from '../api/later.ts'

/** A list is requested once typing has paused for this long. */
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
    /** The values once typing has paused: what a list is requested with. */
    settled: useLater(values, restMs),
    /** Changes some filters; an empty text removes one. The back button leads to the screen before, not to each letter. */
    set,
    remove: (removed: readonly string[]) =>
      set(Object.fromEntries(removed.map((name) => [name, ''])) as Partial<Record<Name, string>>),
  }
}

/** The filters that are set, as the query of a list takes them. */
export function given<Values extends Record<string, string>>(values: Values): Partial<Values> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== '')) as Partial<Values>
}

export interface Choice {
  readonly value: string
  readonly text: string
}

/** A filter that is set, in words; removing it clears these names. */
export interface Chip {
  readonly label: string
  readonly value: string
  readonly names: readonly string[]
}

/** The text of a choice; one that is not among the options is shown as it is. */
export function textOf(options: readonly Choice[], value: string): string {
  return options.find((option) => option.value === value)?.text ?? value
}

/** The options of a filter, and its value if it is none of them: an address can name anything. */
export function withUnknown(options: readonly Choice[], value: string, text = `Unknown: ${value}`): Choice[] {
  return options.some((option) => option.value === value) ? [...options] : [...options, { value, text }]
}

/** A sentence about a value that is not among the options, which the empty value always is. */
export function choiceFault(noun: string, options: readonly Choice[], value: string): string | undefined {
  if (options.some((option) => option.value === value)) return undefined
  const known = options.filter((option) => option.value !== '').map(({ text }) => text)
  return `“${value}” is not a ${noun}. Choose ${new Intl.ListFormat('en', { type: 'disjunction' }).format(known)}.`
}

/** A sentence about a text that is not a date or a time. */
export function timeFault(value: string): string | undefined {
  if (value === '' || !Number.isNaN(Date.parse(value))) return undefined
  return `“${value}” is not a date.`
}
