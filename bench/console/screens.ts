import type { LargeLedger } from './large-ledger.ts'

/** What a screen asks. */
export interface Question {
  readonly screen: string
  readonly path: string
}

/** Every question that the screens ask, about records that there are. */
export function questionsOf(ledger: Pick<LargeLedger, 'mandates'>, transactionId: string): Question[] {
  const [mandate] = ledger.mandates
  const agentId = mandate?.agentId ?? ''
  const mandateId = mandate?.id ?? ''
  const tenDaysAgo = new Date(Date.now() - 10 * 24 * 3_600_000).toISOString()
  const nineDaysAgo = new Date(Date.now() - 9 * 24 * 3_600_000).toISOString()
  const list = '/v1/console/transactions'
  return [
    ['overview', '/v1/console/overview'],
    ['mandates', '/v1/console/mandates'],
    ['mandates, paused', '/v1/console/mandates?status=paused'],
    ['mandates, by purpose', '/v1/console/mandates?q=nothing'],
    ['mandate', `/v1/console/mandates/${mandateId}`],
    ['mandate, spend by day', `/v1/console/mandates/${mandateId}/spend?step=day&stretches=30`],
    ['mandate, spend by hour', `/v1/console/mandates/${mandateId}/spend?step=hour&stretches=168`],
    ['transactions', list],
    ['transactions, denied', `${list}?status=denied`],
    ['transactions, of a reason', `${list}?reason_code=merchant_not_allowed`],
    ['transactions, of a mandate', `${list}?mandate_id=${mandateId}`],
    ['transactions, of a mandate, denied', `${list}?mandate_id=${mandateId}&status=denied`],
    ['transactions, of an agent', `${list}?agent_id=${agentId}`],
    ['transactions, of a seller', `${list}?merchant_domain=shop1.example.com`],
    ['transactions, of a day', `${list}?created_from=${tenDaysAgo}&created_before=${nineDaysAgo}`],
    ['transactions, none fit', `${list}?status=pending`],
    ['transaction', `${list}/${transactionId}`],
    ['agents', '/v1/console/agents'],
    ['agent', `/v1/console/agents/${agentId}`],
    ['sellers', '/v1/console/sellers'],
    ['keys', '/v1/console/api-keys'],
    ['audit log', '/v1/audit-log'],
    ['search', '/v1/console/search?q=shop'],
    ['feed', '/v1/console/feed'],
    ['system', '/v1/console/system'],
  ].map(([screen = '', path = '']) => ({ screen, path }))
}

/** Milliseconds of so many answers to a question, the fastest first. */
export async function timesOf(
  url: string,
  key: string,
  { path }: Question,
  count: number,
): Promise<number[]> {
  const times: number[] = []
  for (let asked = 0; asked < count; asked++) {
    const startedAtMs = performance.now()
    const response = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } })
    if (!response.ok) throw new Error(`${path} answers ${response.status}: ${await response.text()}`)
    if (path === '/v1/console/feed') {
      const reader = response.body?.getReader()
      await reader?.read()
      times.push(performance.now() - startedAtMs)
      await reader?.cancel()
      continue
    }
    await response.arrayBuffer()
    times.push(performance.now() - startedAtMs)
  }
  return times.sort((left, right) => left - right)
}
