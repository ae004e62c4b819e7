import { createRequire } from 'node:module'

import type * as pg from 'pg'

/** The address of a PostgreSQL database, without its password. */
interface PostgresAddress {
  /** As spelled in the address; empty if omitted. */
  readonly user: string
  /** A name, an IP address, or a socket folder; empty for the default socket. */
  readonly host: string
  /** Empty if omitted. */
  readonly port: string
  /** The name of the database; empty if omitted. */
  readonly name: string
  readonly parameters: URLSearchParams
}

/** libpq's form for a socket, which is not a URL: a user without a host. */
const hostless = /^(postgres(?:ql)?:\/\/[^@/?#]*@)(?=\/)/

/** Parses an address like `pg` does; undefined if it is invalid. */
export function readPostgresAddress(text: string): PostgresAddress | undefined {
  if (!/^postgres(ql)?:\/\//.test(text)) return undefined
  const isHostless = hostless.test(text)
  const address = isHostless ? text.replace(hostless, '$1none') : text
  if (!URL.canParse(address)) return undefined
  const { username, hostname, port, pathname, searchParams: parameters } = new URL(address)
  return {
    user: encodeURIComponent(parameters.get('user') ?? '') || username,
    host: parameters.get('host') ?? (isHostless ? '' : hostname),
    port: parameters.get('port') ?? port,
    name: pathname.slice(1),
    parameters,
  }
}

/** The address for display: without password and options; for a socket, with the user. */
export function describeUrl(url: string): string {
  const address = readPostgresAddress(url)
  if (!address) return 'the database'
  const { user, host, port, name } = address
  if (host.startsWith('/')) {
    const asked = user || encodeURIComponent(defaultUser())
    return `postgresql://${asked}@/${name}?host=${host}${port === '' ? '' : `&port=${port}`}`
  }
  return `postgresql://${user === '' ? '' : `${user}@`}${host}${port === '' ? '' : `:${port}`}/${name}`
}

/** The user of a connection whose address names none. Every service reads this file, but one on SQLite never loads `pg`. */
function defaultUser(): string {
  const { Client } = createRequire(import.meta.url)('pg') as typeof pg
  return new Client({}).user ?? ''
}
