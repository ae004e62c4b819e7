import { checkActivity } from './checks/activity.ts'
import { checkApprovals } from './checks/approvals.ts'
import { checkAuthorizations } from './checks/authorizations.ts'
import { checkBudgets } from './checks/budgets.ts'
import { checkCharges } from './checks/charges.ts'
import { checkHolds } from './checks/holds.ts'
import { checkRecords } from './checks/records.ts'
import { checkStops } from './checks/stops.ts'
import type { Complaint } from './complaint.ts'
import { Dossier } from './dossier.ts'
import type { Evidence } from './history.ts'

const checks = [
  checkCharges,
  checkAuthorizations,
  checkHolds,
  checkBudgets,
  checkApprovals,
  checkStops,
  checkRecords,
  checkActivity,
]

/**
 * Everything about a run that no faithful ledger can have done; empty when some order of the requests
 * that agrees with their times explains every answer and all that is in the ledger.
 *
 * Requests overlap, and the fate of some is unknown. So each question is asked of intervals: what was
 * surely so before a request began, and what may have been so before it ended. Proofs, mandates and
 * keys hang together only by sums and by stops, which is why no order has to be searched for.
 */
export function findComplaints(evidence: Evidence): Complaint[] {
  const complaints: Complaint[] = []
  const dossier = new Dossier(evidence)
  for (const check of checks) {
    check(dossier, (kind, subject, text) => complaints.push({ kind, subject, text }))
  }
  return complaints
}
