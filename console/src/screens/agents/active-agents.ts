import { useRead } from '../../api/queries.ts'

/** Max agents in a select field. */
const offeredAgents = 200

/** Active agents, for a select field. */
export function useActiveAgents({ isEnabled = true }: { readonly isEnabled?: boolean } = {}) {
  const { data } = useRead(
    'agents-to-choose',
    (purser, signal) => purser.agents.list({ limit: 200 }, { signal }).toArray({ limit: offeredAgents }),
    { isEnabled },
  )
  const active = (data ?? []).filter(({ status }) => status === 'active')
  return {
    options: [
      { value: '', text: 'Choose an agent' },
      ...active.map(({ id, name }) => ({ value: id, text: name || id })),
    ],
    /** Whether the list is loaded and empty. */
    areNone: data !== undefined && active.length === 0,
    nameOf: (id: string) => active.find((agent) => agent.id === id)?.name,
  }
}
