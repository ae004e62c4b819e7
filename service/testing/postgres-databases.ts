import { Client } from 'pg'

/** A database for one test. */
export interface PostgresDatabase {
  readonly url: string
  readonly drop: () => Promise<void>
}

/** An empty database on the server of an address. */
export async function createDatabase(server: string, name: string): Promise<PostgresDatabase> {
  // Copying the files of the template takes half the time of logging each page of it.
  await execute(server, `create database ${name} encoding 'UTF8' strategy file_copy`)
  return {
    url: withDatabase(server, name),
    drop: async () => void (await execute(server, `drop database if exists ${name} with (force)`)),
  }
}

/**
 * A database without tables on Citus, registered on all its machines: the coordinator of the address, and the
 * workers registered in its database.
 */
export async function createDistributedDatabase(
  server: string,
  name: string,
): Promise<PostgresDatabase & { readonly worker: string }> {
  const nodes = await execute<{ nodename: string; nodeport: number }>(
    server,
    `select nodename, nodeport from pg_dist_node where noderole = 'primary' and groupid <> 0 order by nodeid`,
  )
  const workers = nodes.map(({ nodename, nodeport }) => withPlace(server, nodename, nodeport))
  const machines = await Promise.all([server, ...workers].map((machine) => createDatabase(machine, name)))
  for (const { url } of machines) await execute(url, 'create extension citus')
  const [coordinator, worker] = machines
  if (!coordinator || !worker) throw new Error('there is no coordinator, or no worker')
  const { hostname, port } = new URL(server)
  // Some accounts share a shard, and each worker has some; creating the default of 32 takes long.
  await execute(coordinator.url, `alter database ${name} set citus.shard_count = 4`)
  await execute(coordinator.url, 'select citus_set_coordinator_host($1, $2)', [hostname, Number(port)])
  for (const { nodename, nodeport } of nodes) await addNode(coordinator.url, nodename, nodeport)
  return {
    url: coordinator.url,
    worker: worker.url,
    drop: async () => {
      for (const machine of machines) await machine.drop()
    },
  }
}

/** Adds roles to the node, which all its databases share: if two test files do so at once, one retries. */
async function addNode(coordinator: string, host: string, port: number): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await execute(coordinator, 'select citus_add_node($1, $2)', [host, port])
      return
    } catch (error) {
      if (attempt === 5) throw error
    }
  }
}

/** The result of a statement, on a separate connection. */
export async function execute<Row>(
  url: string,
  statement: string,
  values?: readonly unknown[],
): Promise<Row[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query(statement, values && [...values])
    return rows as Row[]
  } finally {
    await client.end()
  }
}

function withDatabase(url: string, database: string): string {
  const address = new URL(url)
  address.pathname = `/${database}`
  return address.href
}

function withPlace(url: string, host: string, port: number): string {
  const address = new URL(url)
  address.hostname = host
  address.port = String(port)
  return address.href
}
