import { useRead } from '../api/queries.ts'
import type { Choice } from './filters.ts'

/** At most this many agents, and as many mandates, are offered by a filter; others are found by their own screens. */
const offered = 200

/** Every agent, for a filter to choose from. */
export function useAgentChoices(): readonly Choice[] {
  const { data } = useRead('agents-to-filter', (purser, signal) =>
    purser.agents.list({ limit: offered }, { signal }).toArray({ limit: offered }),
  )
  return [
    { value: '', text: 'Every agent' },
    ...(data ?? []).map(({ id, name }) => ({ value: id, text: name || 'Unnamed agent' })),
  ]
}

/** Every mandate, or those of one agent. */
export function useMandateChoices(agentId: string): readonly Choice[] {
  const query = { limit: offered, ...(agentId ? { agent_id: agentId } : {}) }
  const { data } = useRead(
    'mandates-to-filter',
    (purser, signal) => purser.console.mandates.list(query, { signal }).toArray({ limit: offered }),
    { parameters: [agentId] },
  )
  return [
    { value: '', text: 'Every mandate' },
    ...(data ?? []).map(({ id, purpose }) => ({ value: id, text: purpose || 'No purpose given' })),
  ]
}
