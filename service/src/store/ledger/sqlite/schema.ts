import { sqlName, type Column, type ColumnKind, type Table } from '../table.ts'
import {
  allTables,
  agents,
  auditEvents,
  entries,
  evaluations,
  mandates,
  payments,
  refunds,
  sellers,
} from '../tables.ts'

/**
 * Tables with long rows. The others have no row ids: their rows are stored in the primary key's tree, which
 * saves a tree and suits short rows.
 */
const longTables: readonly Table[] = [agents, mandates, sellers, payments, evaluations, refunds, auditEvents]

/** Tables whose rows have numbers, which updates use to find them. */
export const numberedTables: readonly Table[] = [mandates, payments]

/** Tables whose indexes are written later. */
const lateTables: readonly Table[] = [payments, entries]

/** About as much as a capture writes into a payment. */
const reservedBytes = 112

/**
 * Tables whose rows grow. Each row has padding that its first update gives up, so that it stays in its page.
 */
export const growingTables: readonly Table[] = [payments]

/**
 * The columns of a mandate that payments change, and its budget, which the database checks. They are stored
 * separately: a page holds a hundred of these rows but only nine whole mandates, and a commit writes every
 * page that it changes.
 */
const sumsOfMandate: readonly string[] = [
  'maxTotalMicro',
  'epoch',
  'spentMicro',
  'heldMicro',
  'openPayments',
  'authorizedMicro',
  'authorizedPayments',
  'releasedUntilMs',
  'usage',
]

const types: Readonly<Record<ColumnKind, string>> = {
  id: 'blob',
  text: 'text',
  micro: 'integer',
  integer: 'integer',
  json: 'text',
  bytes: 'blob',
}

/** The type of a column in SQLite. */
export function typeOf({ kind }: Column): string {
  return types[kind]
}

/** The view of the entries of an account's own mandates, through an index that is written later. */
export const entriesByMandate = 'entries_by_mandate'

/**
 * The view of open payments through an index that is written later, and the view of those that it may lack.
 */
export const paymentsByExpiry = 'payments_by_expiry'
export const waitingPayments = 'waiting_payments'

const indexOfEntries = ['accountId', 'mandateId', 'id']
const indexOfPayments = ['accountId', 'mandateId', 'epoch', 'expiresAtMs', 'nonce']

/**
 * Indexes that are written later, by `OpenPayments` and `EntriesOfMandates`, with the mark of each, and the
 * view of entries through the latter.
 */
const ownTables = `
create table open_payments (
  account_id blob not null,
  mandate_id blob not null,
  epoch integer not null,
  expires_at_ms integer not null,
  nonce blob not null,
  primary key (account_id, mandate_id, epoch, expires_at_ms, nonce)
) strict, without rowid;
create table entries_of_mandates (
  account_id blob not null,
  mandate_id blob not null,
  id blob not null,
  primary key (account_id, mandate_id, id)
) strict, without rowid;
create view ${entriesByMandate} as
  select ${Object.keys(entries.columns)
    .map((name) => `${indexOfEntries.includes(name) ? 'i' : 'e'}.${sqlName(name)}`)
    .join(', ')}
  from entries_of_mandates i cross join entries e on e.account_id = i.account_id and e.id = i.id;
create table index_marks (
  name text not null primary key,
  mark blob not null
) strict, without rowid;
create view ${paymentsByExpiry} as
  select ${Object.keys(payments.columns)
    .map((name) => `${indexOfPayments.includes(name) ? 'i' : 'p'}.${sqlName(name)}`)
    .join(', ')}
  from open_payments i cross join payments p on p.account_id = i.account_id and p.nonce = i.nonce;
create view ${waitingPayments} as
  select ${Object.keys(payments.columns)
    .map((name) => `p.${sqlName(name)}`)
    .join(', ')}
  from accounts a cross join payments p on p.account_id = a.id
    and p.nonce >= coalesce((select mark from index_marks where name = 'open_payments'), x'');`

/** The steps of the schema, oldest first. A released step is never edited: add a new one. */
export const ledgerSteps: readonly string[] = [
  [...allTables.map(createTable), ownTables, ...allTables.flatMap(createView)].join('\n'),
]

/** A table of the file: all columns of a declared table, or some of them. */
export interface Part {
  readonly name: string
  readonly columns: readonly string[]
}

/** The tables that store the rows of a declared table; the first has the key, and they are joined by `no`. */
export function partsOf(table: Table): readonly [Part] | readonly [Part, Part] {
  const { name } = table
  const columns = Object.keys(table.columns)
  const sums = table === mandates ? sumsOfMandate : []
  if (sums.length === 0) return [{ name, columns }]
  const others = columns.filter((column) => !sums.includes(column))
  return [
    { name, columns: others },
    { name: `${name}_sums`, columns: sums },
  ]
}

function createTable(table: Table): string {
  const { name, columns, key, indexes, checks } = table
  const parts = partsOf(table)
  const isNumbered = numberedTables.includes(table)
  const statements = parts.map((part, index) => {
    const names = part.columns.map(sqlName)
    const inPart = (check: string) => part === parts.find((one) => speaksOf(check, one))
    const keyLine = `(${columnList(key)})`
    const lines = [
      ...(isNumbered ? ['no integer primary key'] : []),
      ...part.columns.map((column, place) => declareColumn(names[place]!, columns[column]!)),
      ...(growingTables.includes(table) ? [`blank blob default (zeroblob(${reservedBytes}))`] : []),
      ...(index > 0 ? [] : [isNumbered ? `unique ${keyLine}` : `primary key ${keyLine}`]),
      ...checks.filter(inPart).map((check) => `check (${check})`),
    ]
    const options = longTables.includes(table) ? 'strict' : 'strict, without rowid'
    return `create table ${part.name} (\n  ${lines.join(',\n  ')}\n) ${options};`
  })
  const indexStatements = (lateTables.includes(table) ? [] : indexes).map((index) => {
    const indexName = `${name}_by_${index.slice(1).map(sqlName).join('_')}`
    return `create index ${indexName} on ${name} (${columnList(index)});`
  })
  return [...statements, ...indexStatements].join('\n')
}

/** The name under which reads find all columns of a table. */
export function wholeName(table: Table): string {
  return partsOf(table).length > 1 ? `whole_${table.name}` : table.name
}

function createView(table: Table): string[] {
  const [part, other] = partsOf(table)
  if (!other) return []
  const columns = columnList(Object.keys(table.columns))
  return [
    `create view ${wholeName(table)} as select ${columns} from ${part.name} cross join ${other.name} using (no);`,
  ]
}

/** Whether a check names a column of a part. */
function speaksOf(check: string, { columns }: Part): boolean {
  const words = check.split(/\W+/)
  return columns.some((column) => words.includes(sqlName(column)))
}

function declareColumn(name: string, column: Column): string {
  const { isNullable, vocabulary } = column
  // SQLite builds a table for each `in` list whenever a row is written.
  const check = vocabulary ? ` check (${vocabulary.map((word) => `${name} = '${word}'`).join(' or ')})` : ''
  return `${name} ${typeOf(column)}${isNullable ? '' : ' not null'}${check}`
}

/**
 * A parameter of a statement that joins tables. Without the plus, SQLite passes its value on from table to table, and
 * prepares the statement anew for each value: that takes ten times as long as running it.
 */
export function joinedParameter(name = '?'): string {
  return `+${name}`
}

/** Columns as an SQL list. */
export function columnList(names: readonly string[]): string {
  return names.map(sqlName).join(', ')
}
