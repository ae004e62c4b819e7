import type { IdKind } from '../../../domain/type-id.ts'
import type { LedgerFault } from '../../store.ts'
import {
  accounts,
  agentAccounts,
  agents,
  apiKeys,
  approvals,
  authorizations,
  budgets,
  entries,
  evaluations,
  identities,
  keyHashes,
  mandateAccounts,
  mandates,
  mandateVersions,
  orders,
  openApprovals,
  payments,
  refunds,
  sellerDomains,
  sellers,
} from '../tables.ts'
import { activityFaults } from './activity-faults.ts'
import { findExpiryFaults } from './expiry-faults.ts'
import { findLimitFaults } from './limit-faults.ts'
import { from, idFrom } from './rows.ts'
import { capturedMicro, chargedMicro } from './sums.ts'
import { sql, type Reader, type Sql } from '../../sql.ts'

/**
 * Every inconsistency in the ledger: each sum and each limit against its records, and each record against its
 * counterpart. The reader is of one snapshot.
 */
export async function findLedgerFaults(db: Reader): Promise<LedgerFault[]> {
  const { rows } = await sql<{ account_id: unknown; subject_id: unknown; kind: Kind; fault: string }>`
    with ${betweenAccounts} ${sql.join(faults, sql` union all `)}`.execute(db)
  const ofRecords = rows.map(({ account_id, subject_id, kind, fault }) => ({
    accountId: idFrom('account', account_id),
    subjectId: idFrom(kind, subject_id),
    fault,
  }))
  return [...ofRecords, ...(await findExpiryFaults(db)), ...(await findLimitFaults(db))]
}

type Kind = IdKind | 'nonce'

/**
 * Checks across two accounts: a database that distributes accounts over machines can join these rows only
 * after collecting them in one place.
 */
const betweenAccounts = sql`
    ahead as materialized (
      select id from ${from(accounts)} where clock_offset_ms > 0),
    received as materialized (
      select * from ${from(entries)} where kind = 'received'),
    refund_sent as materialized (
      select * from ${from(entries)} where kind = 'refund_sent'),
    refunded as materialized (
      select * from ${from(entries)} where kind = 'refunded'),
    sold as materialized (
      select * from ${from(payments)} where status = 'captured' and seller_account_id <> account_id)`

/** Whether the records of two accounts have one time: an account that has advanced its test clock has its own. */
function isSameTime(...columns: readonly [one: string, other: string, payer: string, seller: string]) {
  const [one, other, payer, seller] = columns.map((column) => sql.ref(column))
  return sql`(${one} = ${other} or ${payer} in (select id from ahead) or ${seller} in (select id from ahead))`
}

const ofMandate = (text: string) =>
  sql`select m.account_id, m.id as subject_id, 'mandate' as kind, ${sql.lit(text)} as fault
    from ${from(mandates)} m`

const sums = (condition: Sql, amount = sql`p.amount_micro`) => sql`
  left join (
    select p.account_id, p.mandate_id, sum(${amount}) as sum_micro, count(*) as payments
    from ${from(payments)} p join ${from(mandates)} own on own.account_id = p.account_id and own.id = p.mandate_id
    where ${condition} group by p.account_id, p.mandate_id) s
  on s.account_id = m.account_id and s.mandate_id = m.id`

const paid = sums(sql`p.status = 'captured'`, chargedMicro)
const authorized = sums(sql`p.status = 'authorized'`)
const open = sums(sql`p.status = 'open' and p.epoch = own.epoch`)

const ofPayment = (text: string) =>
  sql`select p.account_id, p.nonce as subject_id, 'nonce' as kind, ${sql.lit(text)} as fault from ${from(payments)} p`

const ofEntry = (text: string) =>
  sql`select e.account_id, e.id as subject_id, 'transaction' as kind, ${sql.lit(text)} as fault from ${from(entries)} e`

/** Whether an amount as text, which may have zeros that add nothing, is another one than in millionths. */
function isOtherAmount(text: string, micro: string): Sql {
  const [shown, enforced] = [sql.ref(text), sql.ref(micro)]
  const decimals = sql`case when ${shown} like '%.%' then length(${shown}) - length(rtrim(${shown}, '0123456789')) else 0 end`
  const digits = sql`replace(${shown}, '.', '') || substr('000000', 1 + ${decimals})`
  return sql`ltrim(${digits}, '0') <> ltrim(cast(${enforced} as text), '0')`
}

const otherAmount = 'its amount as text is another one than it counts with'

const faults: readonly Sql[] = [
  sql`${ofMandate('it shows another total budget, or another maximum of a payment, than it enforces')}
    where ${isOtherAmount('m.max_total_text', 'm.max_total_micro')}
      or ${isOtherAmount('m.max_per_transaction_text', 'm.max_per_transaction_micro')}`,
  sql`${ofPayment(otherAmount)} where ${isOtherAmount('p.amount_text', 'p.amount_micro')}`,
  sql`select a.account_id, a.id, 'approval', ${sql.lit(otherAmount)} from ${from(approvals)} a
    where ${isOtherAmount('a.amount_text', 'a.amount_micro')}`,
  sql`select r.account_id, r.id, 'transaction', ${sql.lit(otherAmount)} from ${from(refunds)} r
    where ${isOtherAmount('r.amount_text', 'r.amount_micro')}`,
  sql`select v.account_id, v.id, 'transaction', ${sql.lit(otherAmount)} from ${from(evaluations)} v
    where ${isOtherAmount('v.amount_text', 'v.amount_micro')}`,
  sql`${ofMandate('spent differs from the sum of its captured payments without refunds')} ${paid}
    where m.spent_micro <> coalesce(s.sum_micro, 0)`,
  sql`${ofMandate('held differs from the sum of its open payments')} ${open}
    where m.held_micro <> coalesce(s.sum_micro, 0)`,
  sql`${ofMandate('it counts other open payments than there are')} ${open}
    where m.open_payments <> coalesce(s.payments, 0)`,
  sql`${ofMandate('versions of its terms are missing')}
    left join (
      select account_id, mandate_id, count(*) as versions, max(version) as last from ${from(mandateVersions)}
      group by account_id, mandate_id) w on w.account_id = m.account_id and w.mandate_id = m.id
    where coalesce(w.versions, 1) <> m.version or coalesce(w.last, 1) <> m.version`,
  sql`${ofMandate('authorized differs from the sum of its authorized payments')} ${authorized}
    where m.authorized_micro <> coalesce(s.sum_micro, 0)`,
  sql`${ofMandate('it counts other authorized payments than there are')} ${authorized}
    where m.authorized_payments <> coalesce(s.payments, 0)`,
  sql`${ofMandate('spent, held and authorized exceed the total budget')}
    where m.spent_micro + m.held_micro + m.authorized_micro > m.max_total_micro`,
  sql`select o.account_id, o.id, 'approval', 'it is found by its question, and differs' from ${from(openApprovals)} o
    left join ${from(approvals)} a on a.account_id = o.account_id and a.id = o.id and a.mandate_id = o.mandate_id
      and a.status = o.status and a.expires_at_ms = o.expires_at_ms
    where a.id is null`,
  sql`select a.account_id, a.id, 'approval', 'it was used for no payment that it admits' from ${from(approvals)} a
    left join ${from(payments)} p on p.account_id = a.account_id and p.nonce = a.nonce and p.mandate_id = a.mandate_id
      and p.resource_url = a.resource_url and p.amount_micro <= a.amount_micro
    where (a.status = 'consumed') <> (p.nonce is not null)`,
  sql`${ofMandate('it is not found by its id')}
    left join ${from(mandateAccounts)} d on d.mandate_id = m.id and d.account_id = m.account_id
    where d.mandate_id is null`,
  sql`${ofMandate('it has no agent')}
    left join ${from(agents)} a on a.account_id = m.account_id and a.id = m.agent_id and a.environment = m.environment
    where a.id is null`,
  sql`select a.account_id, a.id, 'agent', 'it is not found by its id' from ${from(agents)} a
    left join ${from(agentAccounts)} d on d.agent_id = a.id and d.account_id = a.account_id
    where d.agent_id is null`,
  sql`${ofPayment('it has no mandate, or one of another agent or of an earlier epoch')}
    left join ${from(mandates)} m on m.account_id = p.account_id and m.id = p.mandate_id and m.agent_id = p.agent_id
      and m.environment = p.environment and m.epoch >= p.epoch
    where m.id is null`,
  sql`${ofPayment('authorized without its deadline')}
    left join ${from(authorizations)} d on d.account_id = p.account_id and d.mandate_id = p.mandate_id
      and d.deadline_ms = p.capture_deadline_ms and d.nonce = p.nonce
    where p.status = 'authorized' and (d.nonce is null or p.authorized_by is null)`,
  sql`select d.account_id, d.nonce, 'nonce', 'a deadline without its authorized payment' from ${from(authorizations)} d
    left join ${from(payments)} p on p.account_id = d.account_id and p.nonce = d.nonce and p.status = 'authorized'
      and p.mandate_id = d.mandate_id and p.capture_deadline_ms = d.deadline_ms
    where p.nonce is null`,
  sql`select o.account_id, o.nonce, 'nonce', 'an order without its payment' from ${from(orders)} o
    left join ${from(payments)} p on p.account_id = o.account_id and p.nonce = o.nonce
      and p.mandate_id = o.mandate_id and p.order_id = o.order_id
    where p.nonce is null`,
  sql`${ofPayment('it pays an order that is not found')}
    left join ${from(orders)} o on o.account_id = p.account_id and o.mandate_id = p.mandate_id
      and o.order_id = p.order_id
    where p.order_id is not null and o.nonce is null`,
  sql`${ofMandate('an order has several payments')}
    join (
      select p.account_id, p.mandate_id, p.order_id from ${from(payments)} p
        join ${from(mandates)} own on own.account_id = p.account_id and own.id = p.mandate_id
      where p.order_id is not null
        and (p.status in ('captured', 'authorized') or p.status = 'open' and p.epoch = own.epoch)
      group by p.account_id, p.mandate_id, p.order_id having count(*) > 1) o
    on o.account_id = m.account_id and o.mandate_id = m.id`,
  sql`${ofPayment('captured above its amount')} where p.captured_micro >= p.amount_micro or p.captured_micro <= 0`,
  sql`${ofPayment('refunded differs from the sum of its refunds, or exceeds what was captured')}
    left join (
      select account_id, nonce, sum(amount_micro) as sum_micro from ${from(refunds)}
      where account_id = payer_id group by account_id, nonce) s on s.account_id = p.account_id and s.nonce = p.nonce
    where coalesce(p.refunded_micro, 0) <> coalesce(s.sum_micro, 0)
      or p.refunded_micro > ${capturedMicro}
      or (p.refunded_micro is not null and p.status <> 'captured')`,
  sql`select r.account_id, r.id, 'transaction', 'a refund without its entry' from ${from(refunds)} r
    left join ${from(entries)} e on e.account_id = r.account_id and e.id = r.id and e.nonce = r.nonce
      and e.kind = case when r.account_id = r.payer_id then 'refunded' else 'refund_sent' end
      and e.amount_micro = r.amount_micro and e.environment = r.environment and e.at_ms = r.created_at_ms
    where e.id is null`,
  sql`${ofEntry('an entry without its refund')}
    left join ${from(refunds)} r on r.account_id = e.account_id and r.id = e.id
    where e.kind in ('refunded', 'refund_sent') and r.id is null`,
  sql`select e.account_id, e.id, 'transaction', 'a refund without its entry in the account that has paid' from refund_sent e
    left join refunded r on r.account_id = e.payer_id and r.id = e.id and r.nonce = e.nonce
      and r.amount_micro = e.amount_micro and ${isSameTime('r.at_ms', 'e.at_ms', 'r.account_id', 'e.account_id')}
    where r.id is null`,
  sql`${ofPayment('captured without its entry')}
    left join ${from(entries)} e on e.account_id = p.account_id and e.id = p.transaction_id and e.kind = 'paid'
      and e.nonce = p.nonce and e.amount_micro = ${capturedMicro} and e.mandate_id = p.mandate_id
      and e.environment = p.environment and e.at_ms = p.captured_at_ms
    where p.status = 'captured' and e.id is null`,
  sql`select p.account_id, p.nonce, 'nonce', 'captured for another account without its entry there' from sold p
    left join received e on e.account_id = p.seller_account_id and e.id = p.transaction_id
      and e.nonce = p.nonce and e.amount_micro = ${capturedMicro}
      and e.environment = p.environment and ${isSameTime('e.at_ms', 'p.captured_at_ms', 'p.account_id', 'p.seller_account_id')}
    where e.id is null`,
  sql`${ofEntry('an entry without its captured payment')}
    left join ${from(payments)} p on p.account_id = e.account_id and p.nonce = e.nonce and p.transaction_id = e.id
      and p.status = 'captured' and e.payer_id = e.account_id
    where e.kind = 'paid' and p.nonce is null`,
  sql`select e.account_id, e.id, 'transaction', 'an entry without its captured payment' from received e
    left join sold p on p.account_id = e.payer_id and p.nonce = e.nonce and p.transaction_id = e.id
      and e.account_id <> e.payer_id and p.seller_account_id = e.account_id
    where p.nonce is null`,
  sql`${ofEntry('an entry without its evaluation')}
    left join ${from(evaluations)} v on v.account_id = e.account_id and v.id = e.id
      and e.payer_id = e.account_id and (v.reason_code is null) = (e.kind = 'approved')
    where e.kind in ('approved', 'denied') and v.id is null`,
  sql`select v.account_id, v.id, 'transaction', 'an evaluation without its entry' from ${from(evaluations)} v
    left join ${from(entries)} e on e.account_id = v.account_id and e.id = v.id and e.kind in ('approved', 'denied')
      and e.environment = v.environment and e.amount_micro = v.amount_micro and e.at_ms = v.created_at_ms
    where e.id is null`,
  activityFaults,
  sql`select a.id, a.id, 'account', 'it is not found by its user' from ${from(accounts)} a
    left join ${from(identities)} i on i.account_id = a.id
    where i.account_id is null`,
  sql`select d.account_id, d.account_id, 'account', 'its records name it, and it does not exist' from (
      ${sql.join(
        [agents, mandates, apiKeys, sellers, budgets, identities].map(
          (table) => sql`select account_id from ${from(table)}`,
        ),
        sql` union `,
      )}) d
    left join ${from(accounts)} a on a.id = d.account_id
    where a.id is null`,
  sql`select d.account_id, d.seller_id, 'seller', 'a domain without its seller' from ${from(sellerDomains)} d
    left join ${from(sellers)} s on s.account_id = d.account_id and s.id = d.seller_id and s.domain = d.domain
      and s.environment = d.environment
    where s.id is null`,
  sql`select a.id, a.id, 'account', 'it counts other keys of owners than work' from ${from(accounts)} a
    left join (
      select account_id, count(*) as keys from ${from(apiKeys)}
      where role in ('owner', 'operator') and revoked_at_ms is null group by account_id) k on k.account_id = a.id
    where a.owner_keys <> coalesce(k.keys, 0)`,
  sql`select k.account_id, k.id, 'apiKey', 'a key that is not found by its hash' from ${from(apiKeys)} k
    left join ${from(keyHashes)} h on h.secret_hash = k.secret_hash and h.key_id = k.id
      and h.account_id = k.account_id
    where h.key_id is null`,
]
