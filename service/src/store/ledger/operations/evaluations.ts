import { checkPolicy, type PolicyDecision } from '../../../domain/policy.ts'
import type { ProposedTransaction } from '../../store.ts'
import { look, operation, portOperation, unchanged } from '../operation.ts'
import { agents, evaluations, mandates, sellerDomains } from '../tables.ts'
import { sellerOf, sellerReads } from './approvals.ts'
import { domainOf } from './captures.ts'
import { decisionOf, recordDecision } from './evaluation-rows.ts'
import { proposalReads, proposedLimits } from './limits/limit-usage.ts'

export const evaluate = operation<ProposedTransaction, PolicyDecision>('evaluate', {
  reads: (call) => [
    look(agents, { accountId: call.accountId, id: call.agentId }),
    look(mandates, { accountId: call.accountId, id: call.mandateId }),
    look(sellerDomains, domainOf(call, call.merchantDomain)),
  ],

  decide(call, facts) {
    const { accountId, environment, merchantDomain, createdAtMs } = call
    const recorded = facts.written(evaluations, call)
    if (recorded) return unchanged(decisionOf(recorded))
    const foundAgent = facts.row(agents, { accountId, id: call.agentId })
    const agent = foundAgent?.environment === environment ? foundAgent : undefined
    const found = facts.row(mandates, { accountId, id: call.mandateId })
    const mandate = found?.environment === environment ? found : undefined
    const proposed = { ...call, atMs: createdAtMs, issuedAtMs: createdAtMs }
    if (mandate) {
      facts.read([...sellerReads(mandate, proposed), ...proposalReads(proposed, mandate, agent)])
    }
    const payment = { ...call, seller: { merchantDomain }, countHolds: false }
    const approval = mandate && {
      isKnownSeller: sellerOf(proposed, { mandate, agent }, facts).isKnown,
      isApproved: false,
    }
    const limits = mandate && agent ? proposedLimits(proposed, facts) : undefined
    const decision = checkPolicy({ agent, mandate, limits, approval }, payment, createdAtMs)
    if (call.isDryRun) return unchanged(decision)
    const seller = facts.row(sellerDomains, domainOf(call, merchantDomain))
    // Another account's seller is not disclosed.
    const ownSeller = seller?.accountId === accountId ? seller : undefined
    const about = { subject: 'transaction', seller: ownSeller, mandate: found, agent } as const
    return { outcome: decision, changes: recordDecision(call, decision, about) }
  },
})

export const isKnownSeller = portOperation('isKnownSeller', {
  reads: ([key]) => [look(mandates, key)],

  decide([key, purchase], facts) {
    const mandate = facts.row(mandates, key)
    if (mandate?.environment !== key.environment) return unchanged(false)
    const agent = facts.row(agents, { accountId: key.accountId, id: mandate.agentId })
    return unchanged(sellerOf(purchase, { mandate, agent }, facts).isKnown)
  },
})
