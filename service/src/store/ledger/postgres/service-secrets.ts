import { withClient } from './connection.ts'

/**
 * A named secret that all services on a database share: the offered one, unless another process has stored one first.
 */
export function keepSecret(url: string, name: string, offered: string): Promise<string> {
  return withClient(url, async (client) => {
    await client.query(
      'insert into service_secrets (name, secret) values ($1, $2) on conflict (name) do nothing',
      [name, offered],
    )
    const { rows } = await client.query<{ secret: string }>(
      'select secret from service_secrets where name = $1',
      [name],
    )
    return rows[0]?.secret ?? offered
  })
}
