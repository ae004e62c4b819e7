import { useMemo, useState } from 'react'
import { useLocation, useSearchParams } from 'react-router'

import { useLater } from '../api/later.ts'

/** Debounce time before a list is requested. */
const restMs = 200

/** The number of changes of filters that were made in this page. */
let changes = 0

/** The filters as set, and the URL that they belong to. */
interface SetFilters {
  readonly text: string
  readonly url: string
  /** The last change that the URL shows, and the last one made. */
  readonly shown: number
  readonly made: number
}

/** Filters stored in the URL, so that a link to a filtered list shows the same list. */
export function useFilters<const Name extends string>(names: readonly Name[]) {
  const [parameters, setParameters] = useSearchParams()
  const url = parameters.toString()
  const { state } = useLocation() as { readonly state: { readonly change?: number } | null }
  const change = state?.change ?? 0
  // A changed URL is rendered later, so a field that showed its value would lose what is typed in the meantime.
  const [filters, setFilters] = useState<SetFilters>({ text: url, url, shown: changes, made: changes })
  const { text, shown, made } = filters
  if (url !== filters.url || (change > shown && change <= made)) {
    const isOwn = change > shown && change <= made
    setFilters(isOwn ? { ...filters, url, shown: change } : { text: url, url, shown: made, made })
  }
  const values = useMemo(() => {
    const given = new URLSearchParams(text)
    return Object.fromEntries(names.map((name) => [name, given.get(name) ?? ''])) as Record<Name, string>
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- the names are written down where the hook is called
  }, [text])
  function set(changed: Partial<Record<Name, string>>) {
    const wanted = new URLSearchParams(text)
    for (const [name, value] of Object.entries<string | undefined>(changed)) {
      if (value) wanted.set(name, value)
      else wanted.delete(name)
    }
    changes += 1
    setFilters({ ...filters, text: wanted.toString(), made: changes })
    setParameters(wanted, { replace: true, state: { change: changes } })
  }
  return {
    values,
    /** The debounced values, used for requests. */
    settled: useLater(values, restMs),
    /**
     * Changes filters; an empty text removes one. Replaces the history entry, so that back leaves the screen.
     */
    set,
    remove: (removed: readonly string[]) =>
      set(Object.fromEntries(removed.map((name) => [name, ''])) as Partial<Record<Name, string>>),
  }
}

/** The active filters as a list query. */
export function given<Values extends Record<string, string>>(values: Values): Partial<Values> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== '')) as Partial<Values>
}

export interface Choice {
  readonly value: string
  readonly text: string
}

/** An active filter for display; removing it clears these names. */
export interface Chip {
  readonly label: string
  readonly value: string
  readonly names: readonly string[]
}

/** The text of an option; an unknown value is shown unchanged. */
export function textOf(options: readonly Choice[], value: string): string {
  return options.find((option) => option.value === value)?.text ?? value
}

/** The options of a filter, plus its value if unknown, because a URL can contain anything. */
export function withUnknown(options: readonly Choice[], value: string, text = `Unknown: ${value}`): Choice[] {
  return options.some((option) => option.value === value) ? [...options] : [...options, { value, text }]
}

/** An error message for a value that is not an option; the empty value always is one. */
export function choiceFault(noun: string, options: readonly Choice[], value: string): string | undefined {
  if (options.some((option) => option.value === value)) return undefined
  const known = options.filter((option) => option.value !== '').map(({ text }) => text)
  return `“${value}” is not a ${noun}. Choose ${new Intl.ListFormat('en', { type: 'disjunction' }).format(known)}.`
}

/** An error message for text that is not a date or a time. */
export function timeFault(value: string): string | undefined {
  if (value === '' || !Number.isNaN(Date.parse(value))) return undefined
  return `“${value}” is not a date.`
}
