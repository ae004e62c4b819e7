import { useRead } from '../api/queries.ts'
import type { Choice } from './filters.ts'

/** Max mandates in a filter; others are reachable from their own screens. */
const offered = 200

/** All mandates, or those of one agent; `none` is the text of the first choice, which is empty. */
export function useMandateChoices(agentId: string, none = 'Every mandate'): readonly Choice[] {
  const query = { limit: offered, ...(agentId ? { agent_id: agentId } : {}) }
  const { data } = useRead(
    'mandates-to-filter',
    (purser, signal) => purser.console.mandates.list(query, { signal }).toArray({ limit: offered }),
    { parameters: [agentId] },
  )
  return [
    { value: '', text: none },
    ...(data ?? []).map(({ id, purpose }) => ({ value: id, text: purpose || 'No purpose given' })),
  ]
}
