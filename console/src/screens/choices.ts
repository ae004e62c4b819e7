import { useRead } from '../api/queries.ts'
import type { Choice } from './filters.ts'

/** Max agents and mandates in a filter; others are reachable from their own screens. */
const offered = 200

/** All agents, for a filter. */
export function useAgentChoices(): readonly Choice[] {
  const { data } = useRead('agents-to-filter', (purser, signal) =>
    purser.agents.list({ limit: offered }, { signal }).toArray({ limit: offered }),
  )
  return [
    { value: '', text: 'Every agent' },
    ...(data ?? []).map(({ id, name }) => ({ value: id, text: name || 'Unnamed agent' })),
  ]
}

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
