import { checkActivity } from './checks/activity.ts'
import { checkApprovals } from './checks/approvals.ts'
import { checkAuthorizations } from './checks/authorizations.ts'
import { checkBudgets } from './checks/budgets.ts'
import { checkCharges } from './checks/charges.ts'
import { checkHolds } from './checks/holds.ts'
import { checkOrders } from './checks/orders.ts'
import { checkRecords } from './checks/records.ts'
import { checkStops } from './checks/stops.ts'
import type { Complaint } from './complaint.ts'
import { Dossier } from './dossier.ts'
import type { Evidence } from './history.ts'

const checks = [
  checkCharges,
  checkAuthorizations,
  checkHolds,
  checkOrders,
  checkBudgets,
  checkApprovals,
  checkStops,
  checkRecords,
  checkActivity,
]

/**
 * Everything in a run that a correct ledger cannot have done; empty if some order of the requests, consistent
 * with their times, explains every answer and the contents of the ledger.
 *
 * Requests overlap, and the outcome of some is unknown. So each check works on intervals: what was certainly
 * true before a request began, and what may have been true before it ended. Proofs, mandates and keys depend
 * on each other only through sums and stops, so no order has to be searched for.
 */
export function findComplaints(evidence: Evidence): Complaint[] {
  const complaints: Complaint[] = []
  const dossier = new Dossier(evidence)
  for (const check of checks) {
    check(dossier, (kind, subject, text) => complaints.push({ kind, subject, text }))
  }
  return complaints
}
