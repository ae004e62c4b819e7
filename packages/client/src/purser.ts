import type { PurserOptions } from './options.ts'
import { accounts, type Accounts } from './resources/accounts.ts'
import { agents, type Agents } from './resources/agents.ts'
import { apiKeys, type ApiKeys } from './resources/api-keys.ts'
import { approvals, type Approvals } from './resources/approvals.ts'
import { auditLog, type AuditLog } from './resources/audit-log.ts'
import { budgets, type Budgets } from './resources/budgets.ts'
import { consoleOf, type Console } from './resources/console.ts'
import { health, type Health } from './resources/health.ts'
import { journal, type Journal } from './resources/journal.ts'
import { mandates, type Mandates } from './resources/mandates.ts'
import { payments, type Payments } from './resources/payments.ts'
import { policy, verifyAgent, type Policy } from './resources/policy.ts'
import { sellers, type Sellers } from './resources/sellers.ts'
import { sessions, type Sessions } from './resources/sessions.ts'
import { testClock, type TestClock } from './resources/test-clock.ts'
import { transactions, type Transactions } from './resources/transactions.ts'
import { createOpen, createSend } from './send.ts'

/**
 * A client for one service with one key. Requests and responses use the field names of interface 0.1.0: amounts are
 * strings in USDC, and times are ISO 8601 with a zone. A refused payment is a result; every other failure is an error:
 * each call may throw an `AuthenticationError`, a `PermissionError`, a `ValidationError`, an `UnavailableError` or a
 * `ConnectionError`, and those that its method names (Authentication, Errors).
 *
 * The constructor throws a `PurserError` for an `apiKey` or a `baseUrl` that cannot be one.
 *
 * @example
 * const purser = new Purser({ apiKey, baseUrl: url })
 * const { authorized } = await purser.verifyAgent(payment)
 */
export class Purser {
  readonly accounts: Accounts
  readonly apiKeys: ApiKeys
  /** Console sessions; for keys of owners, operators and approvers. */
  readonly sessions: Sessions
  readonly agents: Agents
  readonly mandates: Mandates
  /** Approvals: payments that need one, and increases. */
  readonly approvals: Approvals
  /** Budgets that mandates and agents share; for keys of owners and operators, and for approvers to read. */
  readonly budgets: Budgets
  readonly sellers: Sellers
  readonly payments: Payments
  readonly policy: Policy
  /**
   * Checks whether a payment would be allowed: see `authorized`. Records nothing. A denial is a result (Endpoints).
   *
   * @example
   * const { authorized, reason_code, mandate, risk } = await purser.verifyAgent(payment)
   */
  readonly verifyAgent: ReturnType<typeof verifyAgent>
  readonly transactions: Transactions
  /** The journal for accountants; for keys of owners, operators and approvers. */
  readonly journal: Journal
  /** The clock of the sandbox; for keys of owners and operators, and for approvers to read. */
  readonly testClock: TestClock
  readonly auditLog: AuditLog
  readonly health: Health
  /** The calls of the web console; for keys and sessions of owners, operators and approvers. */
  readonly console: Console

  constructor(options: PurserOptions) {
    const send = createSend(options)
    const open = createOpen(options)
    this.accounts = accounts(send)
    this.apiKeys = apiKeys(send)
    this.sessions = sessions(send)
    this.agents = agents(send)
    this.mandates = mandates(send)
    this.approvals = approvals(send)
    this.budgets = budgets(send)
    this.sellers = sellers(send)
    this.payments = payments(send)
    this.policy = policy(send)
    this.verifyAgent = verifyAgent(send)
    this.transactions = transactions(send, open)
    this.journal = journal(open)
    this.testClock = testClock(send)
    this.auditLog = auditLog(send)
    this.health = health(send)
    this.console = consoleOf(send, open)
  }
}
