import { columnList, declareColumn, sqlName, type Column, type ColumnKind, type Table } from '../table.ts'
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

/** An index by mandate that is written later, by a `LateIndex`. */
export interface LateTable {
  readonly name: string
  readonly table: Table
  /** Those of the index, after the account and the mandate, which never change; the last is the id of a row. */
  readonly columns: readonly string[]
  /** The view of the rows through the index. */
  readonly view: string
}

/** The entries of an account's own mandates. */
export const entriesOfMandates: LateTable = {
  name: 'entries_of_mandates',
  table: entries,
  columns: ['id'],
  view: 'entries_by_mandate',
}

/** Open payments by expiry. */
export const openPayments: LateTable = {
  name: 'open_payments',
  table: payments,
  columns: ['epoch', 'expiresAtMs', 'nonce'],
  view: 'payments_by_expiry',
}

/** The view of the payments that the index of open ones may lack. */
export const waitingPayments = 'waiting_payments'

const lateTables = [entriesOfMandates, openPayments]

/** The late indexes, and how far each is written. */
const ownTables = `
${lateTables.map(createLateTable).join('\n')}
create table index_marks (
  name text not null primary key,
  mark blob not null
) strict, without rowid;
create view ${waitingPayments} as
  select ${qualified(payments, () => 'p')}
  from accounts a cross join payments p on p.account_id = a.id
    and p.nonce >= coalesce((select mark from index_marks where name = '${openPayments.name}'), x'');`

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
    const inPart = (check: string) => part === parts.find((one) => speaksOf(check, one))
    const keyLine = `(${columnList(key)})`
    const lines = [
      ...(isNumbered ? ['no integer primary key'] : []),
      ...part.columns.map((name) => declareColumn(name, columns[name]!, typeOf(columns[name]!))),
      ...(growingTables.includes(table) ? [`blank blob default (zeroblob(${reservedBytes}))`] : []),
      ...(index > 0 ? [] : [isNumbered ? `unique ${keyLine}` : `primary key ${keyLine}`]),
      ...checks.filter(inPart).map((check) => `check (${check})`),
    ]
    const options = longTables.includes(table) ? 'strict' : 'strict, without rowid'
    return `create table ${part.name} (\n  ${lines.join(',\n  ')}\n) ${options};`
  })
  const isLate = lateTables.some((late) => late.table === table)
  const indexStatements = (isLate ? [] : indexes).map((index) => {
    const indexName = `${name}_by_${index.slice(1).map(sqlName).join('_')}`
    return `create index ${indexName} on ${name} (${columnList(index)});`
  })
  return [...statements, ...indexStatements].join('\n')
}

function createLateTable({ name, table, columns, view }: LateTable): string {
  const key = ['accountId', 'mandateId', ...columns]
  const lines = key.map((name) => `${sqlName(name)} ${typeOf(table.columns[name]!)} not null,`)
  const id = sqlName(columns.at(-1)!)
  return `create table ${name} (
  ${lines.join('\n  ')}
  primary key (${columnList(key)})
) strict, without rowid;
create view ${view} as
  select ${qualified(table, (column) => (key.includes(column) ? 'i' : 'e'))}
  from ${name} i cross join ${table.name} e on e.account_id = i.account_id and e.${id} = i.${id};`
}

/** The columns of a table, each with the alias of the table that has it. */
function qualified({ columns }: Table, aliasOf: (column: string) => string): string {
  return Object.keys(columns)
    .map((column) => `${aliasOf(column)}.${sqlName(column)}`)
    .join(', ')
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

/**
 * A parameter of a statement that joins tables. Without the plus, SQLite passes its value on from table to table, and
 * prepares the statement again for each value: that takes ten times as long as running it.
 */
export const joinedParameter = '+?'
