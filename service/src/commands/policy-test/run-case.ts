import type { CaseAnswer, CaseService } from './case-service.ts'
import type { Fields, PolicyCase } from './case-file.ts'

/** What was decided about the payment of a case. */
export interface CaseResult {
  readonly name: string
  readonly isPassed: boolean
  readonly expected: string
  readonly decision: string | null
  readonly reasonCode: string | null
  /** Why it was denied; or why the case could not be run, if there is no decision. */
  readonly detail: string | null
}

/** An answer that the case cannot use: its mandate or a payment is not valid. */
class CaseError extends Error {
  override readonly name = 'CaseError'
}

/**
 * Runs a case: creates the mandate, makes the earlier payments, and requests the payment like an agent does,
 * first as an evaluation and then as a proof.
 */
export async function runCase(one: PolicyCase, service: CaseService): Promise<CaseResult> {
  const { name, expected } = one
  try {
    const decided = await decide(one, service)
    const { decision, reason_code: code, reason_detail: detail } = decided
    const isPassed = expected === decision || expected === code
    const told = {
      decision: String(decision),
      reasonCode: String(code),
      detail: typeof detail === 'string' ? detail : null,
    }
    return { name, isPassed, expected, ...told }
  } catch (error) {
    if (!(error instanceof CaseError)) throw error
    return { name, isPassed: false, expected, decision: null, reasonCode: null, detail: error.message }
  }
}

async function decide({ mandate, before, payment, atMs }: PolicyCase, service: CaseService): Promise<Fields> {
  service.setClock(before[0]?.atMs ?? atMs)
  const agent = await service.post('/agents', { name: 'agent' })
  const created = await service.post('/mandates', {
    purpose: 'Policy test',
    expires_at: new Date(atMs + yearMs).toISOString(),
    ...mandate,
    agent_id: agent.body['id'],
  })
  if (created.status !== 201) throw new CaseError(`the mandate is not valid: ${textOf(created)}`)
  const ids = { agent_id: agent.body['id'], mandate_id: created.body['id'] }
  for (const earlier of before) {
    service.setClock(earlier.atMs)
    const proposal = proposalOf(earlier.payment)
    const proof = await service.post('/v1/payments/proof', { ...proposal, ...ids })
    if (proof.status !== 201) throw new CaseError(`the payment before it is not made: ${textOf(proof)}`)
    if (!earlier.isPaid) continue
    const paid = await service.post('/v1/payments/verify', {
      proof: proof.body['proof'],
      merchant_domain: proposal['merchant_domain'],
      expected_amount: proposal['amount'],
    })
    if (paid.status !== 200) throw new CaseError(`the payment before it is not charged: ${textOf(paid)}`)
  }
  service.setClock(atMs)
  const asked = { ...proposalOf(payment), ...ids }
  const evaluated = decisionOf(await service.post('/v1/policy/evaluate', { ...asked, dry_run: true }))
  if (evaluated['decision'] === 'denied') return evaluated
  const proof = await service.post('/v1/payments/proof', asked)
  return proof.status === 201 ? evaluated : decisionOf(proof)
}

const yearMs = 365 * 86_400_000

/** The seller is the host of the resource, unless the payment names another one. */
function proposalOf(payment: Fields): Fields {
  const { resource_url: url } = payment
  const host = typeof url === 'string' && URL.canParse(url) ? { merchant_domain: new URL(url).hostname } : {}
  return { ...host, ...payment }
}

function decisionOf(answer: CaseAnswer): Fields {
  if (answer.body['decision'] === undefined)
    throw new CaseError(`the payment is not valid: ${textOf(answer)}`)
  return answer.body
}

/** What the service reports as wrong. */
function textOf({ body }: CaseAnswer): string {
  const { detail, reason, reason_code: code, reason_detail: why } = body
  if (!Array.isArray(detail)) return [code ?? detail ?? reason, why].filter(Boolean).join(': ')
  return (detail as { readonly loc: readonly unknown[]; readonly msg: string }[])
    .map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`)
    .join('; ')
}
