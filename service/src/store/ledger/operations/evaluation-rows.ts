import { normalizeHostName } from '../../../domain/host-name.ts'
import { budgetPathOf } from '../../../domain/limits.ts'
import type { PolicyDecision, PolicyDenial } from '../../../domain/policy.ts'
import type { Scope } from '../../../domain/records.ts'
import type { ProposedTransaction } from '../../store.ts'
import { put, type Change } from '../operation.ts'
import {
  entries,
  evaluations,
  strayEvaluations,
  type AgentRow,
  type EntryRow,
  type EvaluationRow,
  type MandateRow,
  type RefusedBy,
} from '../tables.ts'

/** What the policy decided about. */
type Asked = Omit<ProposedTransaction, 'merchantDomain'> & Pick<EvaluationRow, 'merchantDomain'>

interface Found {
  readonly subject: EvaluationRow['subject']
  readonly seller: { readonly accountId: string; readonly sellerId: string } | undefined
  /** The mandate that was named, whoever has it. */
  readonly mandate: MandateRow | undefined
  readonly agent: Pick<AgentRow, 'budgetPath'> | undefined
}

/** Records a policy decision, which moves no money. */
export function recordDecision(asked: Asked, decision: PolicyDecision, found: Found): readonly Change[] {
  const { accountId, id, amountMicro, createdAtMs: atMs } = asked
  const { agentId: askedId, environment } = asked
  const isOfAgent = found.mandate?.agentId === askedId && found.mandate.environment === environment
  const mandate = isOfAgent ? found.mandate : undefined
  const row = evaluationOf(asked, decision, { ...found, mandate })
  // A decision about none of the agent's mandates is found by its agent, and no mandate counts it.
  const { agentId } = row
  const stray = mandate ? [] : [put(strayEvaluations, { accountId, agentId, id })]
  const mandateId = mandate?.id ?? null
  const entry = { id, kind: decision.decision, mandateId, amountMicro, count: 1, atMs }
  return [put(evaluations, row), ...stray, decisionEntry(asked, entry)]
}

function evaluationOf(
  asked: Asked,
  decision: PolicyDecision,
  { subject, seller, mandate, agent }: Found,
): EvaluationRow {
  const isApproved = decision.decision === 'approved'
  const { accountId, id, environment, amountText, amountMicro, currency, resourceUrl } = asked
  const budgetPath = mandate ? budgetPathOf(mandate, agent) : []
  return {
    accountId,
    id,
    environment,
    subject,
    agentId: beginningOf(asked.agentId),
    mandateId: beginningOf(asked.mandateId),
    amountText,
    amountMicro,
    currency,
    resourceUrl,
    merchantDomain: asked.merchantDomain === null ? null : normalizeHostName(asked.merchantDomain),
    sellerAccountId: seller?.accountId ?? null,
    sellerId: seller?.sellerId ?? null,
    category: asked.category,
    reasonCode: isApproved ? null : decision.code,
    reasonDetail: isApproved ? null : decision.detail,
    failedCheck: isApproved ? null : decision.check,
    refusedBy: isApproved ? null : refusedByOf(decision),
    budgetPath: budgetPath.length === 0 ? null : budgetPath,
    spentBeforeMicro: mandate?.spentMicro ?? null,
    mandateVersion: mandate?.version ?? null,
    metadata: asked.metadata ?? null,
    createdAtMs: asked.createdAtMs,
  }
}

/** The journal entry of decisions, which move no money. */
export function decisionEntry(
  { accountId, environment }: Scope,
  details: Pick<EntryRow, 'id' | 'mandateId' | 'amountMicro' | 'count' | 'atMs'> & {
    readonly kind: 'approved' | 'denied' | 'more_denied'
  },
): Change {
  return put(entries, { accountId, environment, payerId: accountId, nonce: null, ...details })
}

/** The decision in a record. */
export function decisionOf({
  reasonCode,
  reasonDetail,
  failedCheck,
  refusedBy,
}: EvaluationRow): PolicyDecision {
  return reasonCode === null || reasonDetail === null || failedCheck === null
    ? { decision: 'approved' }
    : { decision: 'denied', code: reasonCode, detail: reasonDetail, check: failedCheck, ...refusedBy }
}

function refusedByOf({ limit, budget, reason }: PolicyDenial): RefusedBy | null {
  if (!limit && !budget && !reason) return null
  return { ...(limit && { limit }), ...(budget && { budget }), ...(reason && { reason }) }
}

/** The service's ids are far shorter, and longer foreign ones would not fit into every index. */
const maxIdLength = 255

function beginningOf(id: string): string {
  return id.length > maxIdLength ? id.slice(0, maxIdLength).toWellFormed() : id
}
