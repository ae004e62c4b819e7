import { explainFailure } from '../api/failures.ts'
import { useRead } from '../api/queries.ts'
import type { Choice } from './filters.ts'

/** Says that the choices of a field could not be read, so that none does not look like all there are; `what` is their plural. */
export function unreadHint(
  { data, error }: { readonly data: unknown; readonly error: Error | null },
  what: string,
): string | undefined {
  if (data !== undefined || !error) return undefined
  return `The ${what} could not be read. ${explainFailure(error)}`
}

/** Max mandates in a filter; others are reachable from their own screens. */
const offered = 200

/** The newest mandates, or those of one agent; `none` is the text of the first choice, which is empty. */
export function useMandateChoices(
  agentId: string,
  none = 'Every mandate',
): { readonly options: readonly Choice[]; readonly hint: string | undefined } {
  const query = { limit: offered, ...(agentId ? { agent_id: agentId } : {}) }
  const read = useRead(
    'mandates-to-filter',
    (purser, signal) => purser.console.mandates.list(query, { signal }).toArray({ limit: offered + 1 }),
    { parameters: [agentId] },
  )
  const { data = [] } = read
  return {
    hint:
      data.length > offered
        ? 'The newest 200 mandates. For others, begin on their own screen.'
        : unreadHint(read, 'mandates'),
    options: [
      { value: '', text: none },
      ...data
        .slice(0, offered)
        .map(({ id, purpose }) => ({ value: id, text: purpose || 'No purpose given' })),
    ],
  }
}
