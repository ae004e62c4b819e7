import { Client } from 'pg'

/** The address of a PostgreSQL database, without its password. */
interface PostgresAddress {
  /** As it is spelled in the address; empty when it is left out. */
  readonly user: string
  /** A name or an IP address, or the folder of a socket; empty for the machine's own. */
  readonly host: string
  /** Empty when it is left out. */
  readonly port: string
  /** The name of the database; empty when it is left out. */
  readonly name: string
  readonly parameters: URLSearchParams
}

/** libpq's usual form for a socket, which is no URL: a user, and no host behind him. */
const hostless = /^(postgres(?:ql)?:\/\/[^@/?#]*@)(?=\/)/

/** Takes an address apart as `pg` does; undefined when it is none. */
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

/** The values of parameters that are one of a few. */
const choices: Readonly<Record<string, readonly string[]>> = {
  sslmode: ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'],
  sslnegotiation: ['postgres', 'direct'],
  uselibpqcompat: ['true', 'false'],
}

/** The parameters that `pg` follows. It passes over any other one. */
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

/**
 * What is wrong with the address in a setting, each time with what would be right; never with anything of its
 * password.
 */
export function addressFaults(text: string, setting = 'PURSER_DATABASE'): string[] {
  const address = readPostgresAddress(text)
  // A slash that is not encoded ends the password: the rest of it would stand where the name of the database is.
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
    // What is no word may be the rest of a password.
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

/** The address as a person may see it: without password and options, and a socket with the user it is asked for. */
export function describeUrl(url: string): string {
  const address = readPostgresAddress(url)
  if (!address) return 'the database'
  const { user, host, port, name } = address
  if (host.startsWith('/')) {
    // Whom `pg` asks for where the address names nobody.
    const asked = user || encodeURIComponent(new Client({}).user ?? '')
    return `postgresql://${asked}@/${name}?host=${host}${port === '' ? '' : `&port=${port}`}`
  }
  return `postgresql://${user === '' ? '' : `${user}@`}${host}${port === '' ? '' : `:${port}`}/${name}`
}
