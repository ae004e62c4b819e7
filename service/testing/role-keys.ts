import type { Role } from '@purser/wire/roles'

import { issueKey, preparePurchase, type Purchase, type TestService } from './service.ts'

/** A sandbox key of each role in the first account, and the purchase of the agent's own key. */
export interface RoleKeys {
  readonly keys: Readonly<Record<Role, string>>
  readonly purchase: Purchase
}

export async function prepareRoleKeys(service: TestService): Promise<RoleKeys> {
  const purchase = await preparePurchase(service)
  const keys = {
    operator: service.sandboxKey,
    owner: await issueKey(service, { role: 'owner' }),
    approver: await issueKey(service, { role: 'approver' }),
    agent: await issueKey(service, { role: 'agent', agent_id: purchase.agentId }),
    merchant: await issueKey(service, { role: 'merchant' }),
  }
  return { keys, purchase }
}
