import { columnList, declareColumn, sqlName, type ColumnKind, type Table } from '../table.ts'
import { allTables } from '../tables.ts'
import { columnTypes } from './column-types.ts'

/**
 * Rows that change often have room in their page for the next version, so that an update touches no index and needs
 * no new page.
 */
const fillFactors: Readonly<Record<string, number>> = { mandates: 50, payments: 42, activity: 70 }

const storageOrder: readonly ColumnKind[] = ['micro', 'integer', 'id', 'bytes', 'text', 'json']

/**
 * Autovacuum runs before dead and new rows are many, however large a table is, so that the planner's statistics and
 * the visibility map stay current.
 */
const vacuumOptions = [
  'autovacuum_vacuum_scale_factor = 0',
  'autovacuum_vacuum_threshold = 20000',
  'autovacuum_vacuum_insert_scale_factor = 0',
  'autovacuum_vacuum_insert_threshold = 200000',
  'autovacuum_analyze_scale_factor = 0.05',
]

/** Data that the service creates at first start and needs later. */
const ownTables = 'create table service_secrets (name text collate "C" primary key, secret text not null);'

/** The steps of the schema, oldest first. A released step is never edited: add a new one. */
export const ledgerSteps: readonly string[] = [[...allTables.map(createTable), ownTables].join('\n')]

function createTable({ name, columns, key, indexes, checks }: Table): string {
  // Columns aligned to eight bytes come first, so that there are no gaps.
  const inOrder = Object.entries(columns).sort(
    ([, one], [, other]) => storageOrder.indexOf(one.kind) - storageOrder.indexOf(other.kind),
  )
  const declared = inOrder.map(([column, of]) => declareColumn(column, of, columnTypes[of.kind].declaration))
  const constraints = [`primary key (${columnList(key)})`, ...checks.map((check) => `check (${check})`)]
  const fillFactor = fillFactors[name]
  const options = [...(fillFactor === undefined ? [] : [`fillfactor = ${fillFactor}`]), ...vacuumOptions]
  return [
    `create table ${name} (`,
    [...declared, ...constraints].map((line) => `  ${line}`).join(',\n'),
    `) with (${options.join(', ')});`,
    ...indexes.map((index) => `create index on ${name} (${columnList(index)}) where ${guardOf(index)};`),
  ].join('\n')
}

/**
 * True for every row, which the planner does not know: so only statements that repeat it can use the index. Plans are
 * kept while tables grow, and on a tiny table any index of an account looks as good as the primary key.
 */
export function guardOf(index: readonly string[]): string {
  return `${sqlName(index[0] as string)} >= '00000000-0000-0000-0000-000000000000'`
}
