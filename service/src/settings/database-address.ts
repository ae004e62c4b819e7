import { readPostgresAddress } from '../store/ledger/postgres/address.ts'

/** Parameters with a fixed set of values. */
const choices: Readonly<Record<string, readonly string[]>> = {
  sslmode: ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'],
  sslnegotiation: ['postgres', 'direct'],
  uselibpqcompat: ['true', 'false'],
}

/**
 * The parameters that `pg` supports, except `application_name`: a restore recognizes running services by the name that
 * Purser sets. `pg` ignores other parameters.
 */
const knownParameters = [
  'host',
  'port',
  'user',
  'password',
  ...Object.keys(choices),
  'sslcert',
  'sslkey',
  'sslrootcert',
  'options',
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
]

/** The errors in a configured address, each with the valid form, and without the password. */
export function addressFaults(text: string, setting = 'PURSER_DATABASE'): string[] {
  const address = readPostgresAddress(text)
  // An unencoded slash or # ends the password: the rest of it would be in place of the database name, or ignored.
  if (!address || /[@/]/.test(address.name) || text.includes('#')) {
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
