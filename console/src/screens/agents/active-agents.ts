import { useRead } from '../../api/queries.ts'

/** Most agents that a form offers. */
const offeredAgents = 200

/** The agents that may still be given something, for a field to choose from. */
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
    /** Whether it is known that there are none. */
    areNone: data !== undefined && active.length === 0,
    nameOf: (id: string) => active.find((agent) => agent.id === id)?.name,
  }
}
