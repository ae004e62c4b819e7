import type { Agent, Purser } from '@purser/client'

import { useRead } from '../../api/queries.ts'
import { unreadHint } from '../choices.ts'
import type { Choice } from '../filters.ts'

/** Max agents that are offered, and that are read to find active ones. */
const maxOffered = 200
const maxRead = 2_000

const hints = {
  all: 'The newest 200 agents. For others, begin on their own screen.',
  active: 'The newest 200 active agents. For others, begin on their own screen.',
}

/** All agents, for a filter; the chosen one is one of them. */
export function useAgentChoices(chosenId = '') {
  const found = useNewestAgents('all', { chosenId })
  return {
    hint: found.hint,
    options: [
      { value: '', text: 'Every agent' },
      ...found.agents.map(({ id, name }): Choice => ({ value: id, text: name || 'Unnamed agent' })),
    ],
  }
}

/** Active agents, for a select field; the chosen one is one of them, if it is active. */
export function useActiveAgents({
  isEnabled = true,
  chosenId = '',
}: { readonly isEnabled?: boolean; readonly chosenId?: string } = {}) {
  const { agents, isCut, isRead, hint } = useNewestAgents('active', { isEnabled, chosenId })
  const active = agents.filter(({ status }) => status === 'active')
  return {
    options: [
      { value: '', text: 'Choose an agent' },
      ...active.map(({ id, name }): Choice => ({ value: id, text: name || id })),
    ],
    /** Whether the list is loaded and empty. */
    areNone: isRead && !isCut && active.length === 0,
    hint,
    nameOf: (id: string) => active.find((agent) => agent.id === id)?.name,
  }
}

function useNewestAgents(
  kind: keyof typeof hints,
  { isEnabled = true, chosenId }: { readonly isEnabled?: boolean; readonly chosenId: string },
) {
  const newest = useRead('agents-to-choose', (purser, signal) => readNewest(purser, kind, signal), {
    parameters: [kind],
    isEnabled,
  })
  const { agents = [], isCut = false } = newest.data ?? {}
  const isUnknown = isCut && chosenId !== '' && !agents.some(({ id }) => id === chosenId)
  const chosen = useRead('chosen-agent', (purser, signal) => purser.agents.get(chosenId, { signal }), {
    parameters: [chosenId],
    isEnabled: isUnknown,
  })
  const others = isUnknown && chosen.data?.id === chosenId ? [chosen.data] : []
  return {
    agents: [...agents, ...others],
    isCut,
    isRead: newest.data !== undefined,
    hint: isCut ? hints[kind] : unreadHint(newest, 'agents'),
  }
}

async function readNewest(purser: Purser, kind: keyof typeof hints, signal: AbortSignal) {
  const agents: Agent[] = []
  let read = 0
  for await (const agent of purser.agents.list({ limit: 200 }, { signal })) {
    if (agents.length === maxOffered || read === maxRead) return { agents, isCut: true }
    read += 1
    if (kind === 'all' || agent.status === 'active') agents.push(agent)
  }
  return { agents, isCut: false }
}
