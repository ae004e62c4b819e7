import {
  Kysely,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  type CompiledQuery,
} from 'kysely'

/** Sends one statement that only reads; its rows. */
export type RunQuery = (text: string, values: readonly unknown[]) => Promise<unknown[]>

/** Writes statements in the dialect and leaves running them to the caller, each outside a transaction. */
export function kyselyOver(run: RunQuery, dialect: Dialect): Kysely<unknown> {
  const connection: DatabaseConnection = {
    executeQuery: async <Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> => ({
      rows: (await run(sql, parameters)) as Row[],
    }),
    streamQuery: () => {
      throw new Error('the console streams page by page')
    },
  }
  const driver: Driver = {
    init: async () => undefined,
    acquireConnection: async () => connection,
    beginTransaction: refuse,
    commitTransaction: refuse,
    rollbackTransaction: refuse,
    releaseConnection: async () => undefined,
    destroy: async () => undefined,
  }
  return new Kysely<unknown>({
    dialect: {
      createAdapter: () => dialect.createAdapter(),
      createQueryCompiler: () => dialect.createQueryCompiler(),
      createIntrospector: (db) => dialect.createIntrospector(db),
      createDriver: () => driver,
    },
  })
}

async function refuse(): Promise<void> {
  throw new Error('the console has no transactions')
}
