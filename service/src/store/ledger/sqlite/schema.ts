import { sqlName, type Column, type ColumnKind, type Table } from '../table.ts'
import { allTables, agents, auditEvents, evaluations, mandates, payments, sellers } from '../tables.ts'

/**
 * Tables with long rows. The others have no row ids: their rows are kept in the tree of their primary key, which saves a tree
 * and suits short rows.
 */
const longTables: readonly Table[] = [agents, mandates, sellers, payments, evaluations, auditEvents]

/** Columns of a payment that its capture fills. */
const reservedBytes = 112

/** Tables whose rows grow. Each has a blank in it, which its first change gives up, so that the row stays in its page. */
export const growingTables: readonly Table[] = [payments]

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

/** The steps of the schema, oldest first. A released step is never edited: a change is a step of its own. */
export const ledgerSteps: readonly string[] = [allTables.map(createTable).join('\n')]

function createTable(table: Table): string {
  const { name, columns, key, indexes, checks } = table
  const lines = [
    ...Object.entries(columns).map(([column, declared]) => declareColumn(sqlName(column), declared)),
    ...(growingTables.includes(table) ? [`blank blob default (zeroblob(${reservedBytes}))`] : []),
    `primary key (${columnList(key)})`,
    ...checks.map((check) => `check (${check})`),
  ]
  const options = longTables.includes(table) ? 'strict' : 'strict, without rowid'
  return [
    `create table ${name} (\n  ${lines.join(',\n  ')}\n) ${options};`,
    ...indexes.map(
      (index) =>
        `create index ${name}_by_${index.slice(1).map(sqlName).join('_')} on ${name} (${columnList(index)});`,
    ),
  ].join('\n')
}

function declareColumn(name: string, column: Column): string {
  const { isNullable, vocabulary } = column
  const check = vocabulary ? ` check (${name} in (${vocabulary.map((word) => `'${word}'`).join(', ')}))` : ''
  return `${name} ${typeOf(column)}${isNullable ? '' : ' not null'}${check}`
}

/** Columns as SQL lists them. */
export function columnList(names: readonly string[]): string {
  return names.map(sqlName).join(', ')
}
