import { NotFoundError, PermissionError, Purser, type Agent, type Mandate, type Sleep } from '@purser/client'

import { Failure } from './failure.ts'
import { createRecordsInMemory, type PurchaseRecords } from './purchases/purchase-records.ts'
import { Purchases } from './purchases/purchases.ts'
import type { Reason } from './reason.ts'
import { Secrets } from './secrets.ts'
import { AddressGuard } from './web/addresses.ts'

export interface WalletOptions {
  /** A key with the role `agent`. Other keys are refused at first use. */
  readonly apiKey: string
  /** The URL of the service; default `http://127.0.0.1:8080`. */
  readonly url?: string | undefined
  /** The expected agent of the key. */
  readonly agentId?: string | undefined
  /** The only mandate to pay from; by default any of the agent's. */
  readonly mandateId?: string | undefined
  /** Opens the purchase records of an agent; default in memory. */
  readonly openRecords?: ((agentId: string) => Promise<PurchaseRecords>) | undefined
  /** Hosts that may be private and without TLS, such as `localhost:3000`. Without a port, all ports. */
  readonly privateHosts?: readonly string[] | undefined
  /** As in `PurserOptions`, for tests: waits before a proof is shown again. */
  readonly sleep?: Sleep | undefined
}

/** The context of the tools: one agent, its mandates, and its purchase records. */
export interface Wallet {
  readonly client: Purser
  readonly secrets: Secrets
  readonly purchases: Purchases
  /** The agent of the key. */
  readonly agent: (signal?: AbortSignal) => Promise<Agent>
  /** The allowed mandates, newest first, at most 200. */
  readonly mandates: (signal?: AbortSignal) => Promise<Mandate[]>
  /** The mandate to pay from, or why there is no unique one. */
  readonly chooseMandate: (
    mandateId: string | undefined,
    signal?: AbortSignal,
  ) => Promise<{ readonly mandate: Mandate } | { readonly reason: Reason }>
}

/**
 * A wallet for one agent's key. The service is not called before the first use. Throws a `PurserError` for a key or an
 * address that cannot be one.
 *
 * @example
 * const wallet = openWallet({ apiKey, url, openRecords: (agentId) => openRecordFiles(`./purchases/${agentId}`) })
 */
export function openWallet(options: WalletOptions): Wallet {
  const { apiKey, mandateId: onlyMandateId } = options
  const client = new Purser({ apiKey, baseUrl: options.url })
  const secrets = new Secrets(apiKey)
  let known: Agent | undefined

  /** The agent's identity is cached. Whether it may pay is checked each time. */
  async function agent(signal?: AbortSignal): Promise<Agent> {
    known ??= await findAgent(client, options.agentId, signal)
    return known
  }

  async function mandates(signal?: AbortSignal): Promise<Mandate[]> {
    if (onlyMandateId !== undefined) {
      const mandate = await findMandate(client, onlyMandateId, signal)
      return mandate ? [mandate] : []
    }
    return client.mandates.list({ limit: maxMandates }, { signal }).toArray({ limit: maxMandates })
  }

  async function chooseMandate(mandateId: string | undefined, signal?: AbortSignal) {
    if (onlyMandateId !== undefined && mandateId !== undefined && mandateId !== onlyMandateId) {
      return { reason: notUsable(`This wallet pays only from the mandate ${onlyMandateId}.`) }
    }
    const named = onlyMandateId ?? mandateId
    if (named !== undefined) {
      const mandate = await findMandate(client, named, signal)
      if (mandate) return { mandate }
      const reason = notUsable(`The agent has no mandate ${named}.`)
      return { reason: onlyMandateId === undefined ? reason : { ...reason, remedy: checkSetting } }
    }
    const found = await mandates(signal)
    const usable = found.filter(isUsable)
    const [first] = usable.length > 0 ? usable : found
    if (!first) return { reason: notUsable('The agent has no mandate.') }
    if (usable.length > 1) {
      const choices = usable.slice(0, 10).map(({ id, purpose }) => `${id} (${purpose})`)
      return {
        reason: {
          reason_code: 'mandate_id_required',
          reason_detail: `The agent has ${usable.length} usable mandates: ${choices.join('; ')}.`,
          remedy: 'Call again with the mandate_id whose purpose fits the purchase.',
        },
      }
    }
    return { mandate: first }
  }

  let records: PurchaseRecords | undefined
  async function openRecords(signal?: AbortSignal): Promise<PurchaseRecords> {
    const { id } = await agent(signal)
    if (records) return records
    const opened = (await options.openRecords?.(id)) ?? createRecordsInMemory()
    // If two calls open records at once, both use the first result.
    records ??= opened
    return records
  }

  const purchases = new Purchases({
    client,
    secrets,
    agent,
    chooseMandate,
    openRecords,
    sleep: options.sleep,
    guard: new AddressGuard(options.privateHosts ?? []),
  })
  return { client, secrets, purchases, agent, mandates, chooseMandate }
}

const maxMandates = 200

function isUsable(mandate: Mandate): boolean {
  const { status, expires_at, allowed_sellers } = mandate
  return status === 'active' && Date.parse(expires_at) > Date.now() && allowed_sellers.length > 0
}

async function findAgent(
  client: Purser,
  agentId: string | undefined,
  signal: AbortSignal | undefined,
): Promise<Agent> {
  if (await canManageKeys(client, signal)) {
    throw new Failure({
      reason_code: 'not_an_agent_key',
      reason_detail: 'The key in use can manage keys and mandates; a model must not use it.',
      remedy: 'Ask the person who runs this server to set PURSER_AGENT_KEY to a key of the role agent.',
    })
  }
  const agents = await client.agents.list({ limit: 2 }, { signal }).toArray({ limit: 2 })
  const [agent] = agents
  if (agent && agents.length === 1 && (agentId === undefined || agentId === agent.id)) return agent
  throw new Failure({
    reason_code: 'agent_not_found',
    reason_detail: `The key in use does not speak for ${agentId === undefined ? 'one agent' : `the agent ${agentId}`}.`,
    remedy: 'Ask the person who runs this server to check PURSER_AGENT_KEY and PURSER_AGENT_ID.',
  })
}

/** Only keys of owners and operators may list keys. */
async function canManageKeys(client: Purser, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    await client.apiKeys.list({ limit: 1 }, { signal }).page()
    return true
  } catch (error) {
    if (error instanceof PermissionError) return false
    throw error
  }
}

async function findMandate(
  client: Purser,
  id: string,
  signal: AbortSignal | undefined,
): Promise<Mandate | undefined> {
  try {
    return await client.mandates.get(id, { signal })
  } catch (error) {
    if (error instanceof NotFoundError) return undefined
    throw error
  }
}

const checkSetting = 'Ask the person who runs this server to check PURSER_MANDATE_ID.'

function notUsable(detail: string): Reason {
  return {
    reason_code: 'mandate_not_found',
    reason_detail: detail,
    remedy: 'Call get_budget to see the mandates that can be used.',
  }
}
