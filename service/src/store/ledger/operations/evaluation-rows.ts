import { normalizeHostName } from '../../../domain/host-name.ts'
import { budgetPathOf } from '../../../domain/limits.ts'
import type { PolicyDecision, PolicyDenial } from '../../../domain/policy.ts'
import type { Hold, Metadata, Scope } from '../../../domain/records.ts'
import { put, type Change } from '../operation.ts'
import {
  entries,
  strayEvaluations,
  type AgentRow,
  type EntryRow,
  type EvaluationRow,
  type MandateRow,
  type RefusedBy,
} from '../tables.ts'

/** What was evaluated. */
type Asked = Pick<
  Hold,
  | 'accountId'
  | 'environment'
  | 'agentId'
  | 'mandateId'
  | 'amountText'
  | 'amountMicro'
  | 'currency'
  | 'resourceUrl'
> & {
  readonly id: string
  readonly merchantDomain: string | null
  readonly category: string | null
  readonly metadata?: Metadata | null
  readonly createdAtMs: number
}

/** What a decision keeps of its mandate, with all shared budgets that it counts in. */
export type LookedAt = Pick<MandateRow, 'spentMicro' | 'version' | 'budgetPath'>

export function lookedAtOf(mandate: MandateRow, agent: Pick<AgentRow, 'budgetPath'> | undefined): LookedAt {
  const { spentMicro, version } = mandate
  const path = budgetPathOf(mandate, agent)
  return { spentMicro, version, budgetPath: path.length === 0 ? null : path }
}

/** The record of a policy decision. */
export function evaluationOf(
  asked: Asked,
  decision: PolicyDecision,
  found: {
    readonly subject: EvaluationRow['subject']
    readonly seller: { readonly accountId: string; readonly sellerId: string } | undefined
    /** The mandate that the policy checked, if the agent has it. */
    readonly mandate: LookedAt | undefined
  },
): EvaluationRow {
  const isApproved = decision.decision === 'approved'
  const { accountId, id, environment, amountText, amountMicro, currency, resourceUrl } = asked
  return {
    accountId,
    id,
    environment,
    subject: found.subject,
    agentId: beginningOf(asked.agentId),
    mandateId: beginningOf(asked.mandateId),
    amountText,
    amountMicro,
    currency,
    resourceUrl,
    merchantDomain: asked.merchantDomain === null ? null : normalizeHostName(asked.merchantDomain),
    sellerAccountId: found.seller?.accountId ?? null,
    sellerId: found.seller?.sellerId ?? null,
    category: asked.category,
    reasonCode: isApproved ? null : decision.code,
    reasonDetail: isApproved ? null : decision.detail,
    failedCheck: isApproved ? null : decision.check,
    refusedBy: isApproved ? null : refusedByOf(decision),
    budgetPath: found.mandate?.budgetPath ?? null,
    spentBeforeMicro: found.mandate?.spentMicro ?? null,
    mandateVersion: found.mandate?.version ?? null,
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

/** The row that finds a decision by its agent, for decisions without one of the agent's mandates. */
export function strayOf(
  { accountId, id, agentId }: EvaluationRow,
  mandate: { readonly agentId: string } | undefined,
): Change[] {
  return mandate?.agentId === agentId ? [] : [put(strayEvaluations, { accountId, agentId, id })]
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
