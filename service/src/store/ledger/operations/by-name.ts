import type { Operation } from '../operation.ts'
import * as accounts from './accounts.ts'
import * as activity from './activity.ts'
import * as agents from './agents.ts'
import * as amendments from './amendments.ts'
import * as apiKeys from './api-keys.ts'
import * as authorizations from './authorizations.ts'
import * as captures from './captures.ts'
import * as approvalDecisions from './approval-decisions.ts'
import * as budgetChanges from './limits/budget-changes.ts'
import * as budgets from './limits/budgets.ts'
import * as denials from './denials.ts'
import * as evaluations from './evaluations.ts'
import * as figures from './figures.ts'
import * as limits from './limits/limit-usage.ts'
import * as mandates from './mandates.ts'
import * as payments from './payments.ts'
import * as refunds from './refunds.ts'
import * as sellers from './sellers.ts'
import * as sessions from './sessions.ts'
import * as stops from './stops.ts'
import * as testClocks from './limits/test-clocks.ts'
import * as voids from './voids.ts'

const modules = [
  accounts,
  activity,
  agents,
  amendments,
  apiKeys,
  approvalDecisions,
  authorizations,
  captures,
  budgetChanges,
  budgets,
  denials,
  evaluations,
  figures,
  limits,
  mandates,
  payments,
  refunds,
  sellers,
  sessions,
  stops,
  testClocks,
  voids,
]

/** Every operation by name, for messages to another thread. */
export const operationsByName: ReadonlyMap<string, Operation<unknown, unknown>> = new Map(
  modules
    .flatMap((module) => Object.values<unknown>(module))
    .filter(isOperation)
    .map((operation) => [operation.name, operation]),
)

function isOperation(value: unknown): value is Operation<unknown, unknown> {
  return typeof value === 'object' && value !== null && 'reads' in value && 'decide' in value
}
