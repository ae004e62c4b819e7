import { Client } from 'pg'

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
function readPostgresAddress(text: string): PostgresAddress | undefined {
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

/** Parameters with a fixed set of values. */
const choices: Readonly<Record<string, readonly string[]>> = {
  sslmode: ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'],
  sslnegotiation: ['postgres', 'direct'],
  uselibpqcompat: ['true', 'false'],
}

/** The parameters that `pg` supports; it ignores others. */
const knownParameters = [
  'host',
  'port',
  'user',
  'password',
  ...Object.keys(choices),
  'sslcert',
  'sslkey',
  'sslrootcert',
  'application_name',
  'options',
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
]

/** The errors in a configured address, each with the valid form, and without the password. */
export function addressFaults(text: string, setting = 'PURSER_DATABASE'): string[] {
  const address = readPostgresAddress(text)
  // An unencoded slash ends the password: the rest of it would be in place of the database name.
  if (!address || /[@/]/.test(address.name)) {
    return [
      `${setting} is no PostgreSQL address; write postgresql://user:password@host:5432/name, with special characters of the password percent-encoded`,
    ]
  }
  if (address.name === '') {
    return [`${setting} names a server but no database; add its name, as in postgresql://host:5432/purser`]
  }
  return [...address.parameters].flatMap(([name, value]) => parameterFault(setting, name, value) ?? [])
}

function parameterFault(setting: string, name: string, value: string): string | undefined {
  if (!knownParameters.includes(name)) {
    // Text that is not a word may be part of a password.
    const named = /^\w{1,40}$/.test(name) ? `the parameter ${name}` : 'a parameter'
    return `${setting} has ${named}, which is not known; those that are: ${knownParameters.join(', ')}`
  }
  const known = choices[name]
  if (known && !known.includes(value)) {
    return `${setting}: ${name} must be one of ${known.join(', ')}, not ${JSON.stringify(value)}`
  }
  if (name === 'port' && !/^\d{1,5}$/.test(value)) {
    return `${setting}: port must be a whole number, not ${JSON.stringify(value)}`
  }
  return undefined
}

/** The address for display: without password and options; for a socket, with the user. */
export function describeUrl(url: string): string {
  const address = readPostgresAddress(url)
  if (!address) return 'the database'
  const { user, host, port, name } = address
  if (host.startsWith('/')) {
    // The default user of `pg`.
    const asked = user || encodeURIComponent(new Client({}).user ?? '')
    return `postgresql://${asked}@/${name}?host=${host}${port === '' ? '' : `&port=${port}`}`
  }
  return `postgresql://${user === '' ? '' : `${user}@`}${host}${port === '' ? '' : `:${port}`}/${name}`
}
