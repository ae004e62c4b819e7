import { useRead } from '../api/queries.ts'
import type { Choice } from './filters.ts'

/** Max mandates in a filter; others are reachable from their own screens. */
const offered = 200

/** The newest mandates, or those of one agent; `none` is the text of the first choice, which is empty. */
export function useMandateChoices(
  agentId: string,
  none = 'Every mandate',
): { readonly options: readonly Choice[]; readonly hint: string | false } {
  const query = { limit: offered, ...(agentId ? { agent_id: agentId } : {}) }
  const { data = [] } = useRead(
    'mandates-to-filter',
    (purser, signal) => purser.console.mandates.list(query, { signal }).toArray({ limit: offered + 1 }),
    { parameters: [agentId] },
  )
  return {
    hint: data.length > offered && 'The newest 200 mandates. For others, begin on their own screen.',
    options: [
      { value: '', text: none },
      ...data
        .slice(0, offered)
        .map(({ id, purpose }) => ({ value: id, text: purpose || 'No purpose given' })),
    ],
  }
}
