import { PurserError } from '../errors.ts'
import type { Purser } from '../purser.ts'
import type { Mandate } from '../wire-types.ts'

/** The agent that pays, and the mandate that it pays from. */
export interface Payer {
  readonly agentId: string
  readonly mandateId: string
}

export interface PayerOptions {
  readonly client: Partial<Pick<Purser, 'agents' | 'mandates'>>
  readonly agentId?: string | undefined
  readonly mandateId?: string | undefined
}

/** Who pays, looked up when it is first needed. */
export interface PayerLookup {
  readonly find: (signal?: AbortSignal) => Promise<Payer>
  /** The mandate has ended: the next call looks for another one. */
  readonly expire: () => void
}

/** Max number of mandates to search. */
const maxMandates = 200

/**
 * Determines who pays. Missing or empty ids are looked up once with the key: an agent's key sees one agent,
 * and possibly just one usable mandate. If the choice is not unique, rejects with a `PurserError` that says
 * what to pass.
 */
export function payerOf({ client, ...given }: PayerOptions): PayerLookup {
  let known: Payer | undefined
  let hasExpired = false

  async function lookUp(signal?: AbortSignal): Promise<Payer> {
    const agentId = given.agentId || (await onlyAgent(client, signal))
    const mandateId = given.mandateId || (await onlyMandate(client, agentId, signal))
    return { agentId, mandateId }
  }

  return {
    find: async (signal) => {
      if (known && !hasExpired) return known
      const before = known
      // Without another mandate, the service's denial says what has happened to the known one.
      const found = await lookUp(signal).catch((error: unknown) => {
        if (before) return before
        throw error
      })
      hasExpired = found.mandateId === before?.mandateId
      return (known = found)
    },
    expire: () => (hasExpired = true),
  }
}

async function onlyAgent({ agents }: PayerOptions['client'], signal?: AbortSignal): Promise<string> {
  if (!agents) throw new PurserError('agentId is missing')
  const [only, ...others] = await agents.list({ limit: 2 }, { signal }).toArray({ limit: 2 })
  if (only && others.length === 0) return only.id
  throw new PurserError(
    only
      ? 'agentId is missing, and this key sees several agents; pass agentId, or use a key with the role agent'
      : 'agentId is missing, and this key sees no agent; use a key with the role agent',
  )
}

async function onlyMandate(
  { mandates }: PayerOptions['client'],
  agentId: string,
  signal?: AbortSignal,
): Promise<string> {
  if (!mandates) throw new PurserError('mandateId is missing')
  const seen = await mandates.list({ limit: maxMandates }, { signal }).toArray({ limit: maxMandates })
  const own = seen.filter(({ agent_id, status }) => agent_id === agentId && status !== 'revoked')
  const usable = own.filter(isUsable)
  // For a paused or expired one, the service's denial says what would help.
  const [only, ...others] = usable.length > 0 ? usable : own
  if (only && others.length === 0) return only.id
  throw new PurserError(
    only
      ? `mandateId is missing, and the agent has several mandates: ${[only, ...others].slice(0, 5).map(nameOf).join(', ')}`
      : 'mandateId is missing, and the agent has no mandate; its owner can create one',
  )
}

function isUsable({ status, expires_at }: Mandate): boolean {
  return status === 'active' && Date.parse(expires_at) > Date.now()
}

function nameOf({ id, purpose }: Mandate): string {
  return `${id} (${purpose.slice(0, 40)})`
}
