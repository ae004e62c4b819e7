import type { LargeLedger } from './large-ledger.ts'

/** The request of a screen. */
export interface Question {
  readonly screen: string
  readonly path: string
  /** Whether the response never ends; then its beginning is measured. */
  readonly isStream: boolean
}

/** Every request of the screens, about existing records. */
export function questionsOf(
  { mandates }: Pick<LargeLedger, 'mandates'>,
  transactionId: string | undefined,
): Question[] {
  const [mandate] = mandates
  const agentId = mandate?.agentId ?? ''
  const mandateId = mandate?.id ?? ''
  const tenDaysAgo = new Date(Date.now() - 10 * 24 * 3_600_000).toISOString()
  const nineDaysAgo = new Date(Date.now() - 9 * 24 * 3_600_000).toISOString()
  const list = '/v1/console/transactions'
  const questions = [
    ['overview', '/v1/console/overview'],
    ['mandates', '/v1/console/mandates'],
    ['mandates, paused', '/v1/console/mandates?status=paused'],
    ['mandates, by purpose', '/v1/console/mandates?q=nothing'],
    ['mandate', `/v1/console/mandates/${mandateId}`],
    ['mandate, spend by day', `/v1/console/mandates/${mandateId}/spend?step=day&buckets=30`],
    ['mandate, spend by hour', `/v1/console/mandates/${mandateId}/spend?step=hour&buckets=168`],
    ...listFilters({ agentId, mandateId }).map(([name, filter]) => [
      `transactions${name === '' ? '' : `, ${name}`}`,
      `${list}?${filter}`,
    ]),
    ['transactions, of a day', `${list}?created_from=${tenDaysAgo}&created_before=${nineDaysAgo}`],
    [
      'transactions, of a seller on a day',
      `${list}?merchant_domain=${shop}&created_from=${tenDaysAgo}&created_before=${nineDaysAgo}`,
    ],
    ['transaction', transactionId === undefined ? '' : `${list}/${transactionId}`],
    ['agents', '/v1/console/agents'],
    ['agent', `/v1/console/agents/${agentId}`],
    ['sellers', '/v1/console/sellers'],
    ['keys', '/v1/console/api-keys'],
    ['audit log', '/v1/audit-log'],
    ['search', '/v1/console/search?q=shop'],
    ['feed', '/v1/console/feed'],
    ['system', '/v1/console/system'],
    ['the list of the API', '/v1/transactions'],
    ['the same, of an agent, denied', `/v1/transactions?agent_id=${agentId}&status=denied`],
  ]
  return questions
    .map(([screen = '', path = '']) => ({ screen, path, isStream: screen === 'feed' }))
    .filter(({ path }) => path !== '')
}

const shop = 'shop1.example.com'

/**
 * The filters of the list of transactions, alone and combined. No transaction is pending or was denied
 * because its agent was revoked, so searches for these read everything and find nothing.
 */
function listFilters({ agentId, mandateId }: { agentId: string; mandateId: string }): [string, string][] {
  const seller = `merchant_domain=${shop}`
  const agent = `agent_id=${agentId}`
  const mandate = `mandate_id=${mandateId}`
  return [
    ['', ''],
    ['denied', 'status=denied'],
    ['paid', 'status=paid'],
    ['none fit', 'status=pending'],
    ['of a reason', 'reason_code=merchant_not_allowed'],
    ['with no such reason', 'reason_code=agent_revoked'],
    ['of a mandate', mandate],
    ['of a mandate, denied', `${mandate}&status=denied`],
    ['of a mandate, at a seller', `${mandate}&${seller}`],
    ['of an agent', agent],
    ['of an agent, denied', `${agent}&status=denied`],
    ['of an agent, no matches', `${agent}&status=pending`],
    ['of an agent, of a reason', `${agent}&reason_code=total_budget_exceeded`],
    ['of an agent, of no such reason', `${agent}&reason_code=agent_revoked`],
    ['of an agent, at a seller', `${agent}&${seller}`],
    ['of an agent, at a seller, denied', `${agent}&${seller}&status=denied`],
    ['of an agent, at no such seller', `${agent}&merchant_domain=nobody.example`],
    ['of a seller', seller],
    ['of a seller, denied', `${seller}&status=denied`],
    ['of a seller, of no such reason', `${seller}&reason_code=agent_revoked`],
  ]
}
