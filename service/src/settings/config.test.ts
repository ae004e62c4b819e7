import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import { chosenKeys, helpText, readConfig, readDatabase, warningsOf, type Config } from './config.ts'
import { defaultRateLimits } from '../limits.ts'
import { logLevels } from './settings.ts'

const secret = '0123456789abcdef0123456789abcdef'
const otherSecret = 'fedcba9876543210fedcba9876543210'
const sandboxKey = 'svc_sand_chosen-by-hand'
const productionKey = 'svc_prod_chosen-by-hand'

test('Without settings, the defaults apply', (context) => {
  const folder = folderFor(context)
  assert.deepEqual(config([], {}, folder), {
    host: '127.0.0.1',
    port: 8080,
    database: { kind: 'sqlite', path: join(folder, 'data/purser.db') },
    proofSecrets: [],
    bootstrapKeys: { sandbox: undefined, production: undefined },
    allowWeakKeys: false,
    logLevel: 'info',
    drainSeconds: 0,
    metrics: undefined,
    accessLog: false,
    requiresVerifiedSellers: false,
    maxConnections: 10_000,
    rateLimits: defaultRateLimits,
    trustedProxies: [],
    workers: 1,
    publicUrl: undefined,
    oidc: undefined,
  })
})

interface Setting {
  readonly variable: string
  readonly flag: string
  /** Two values that distinguish the sources, and the parsed values. */
  readonly given: readonly [text: string, expected: unknown]
  readonly other: readonly [text: string, expected: unknown]
  readonly read: (config: Config) => unknown
  readonly isSecret?: boolean
}

const settings: readonly Setting[] = [
  {
    variable: 'PURSER_METRICS_PORT',
    flag: '--metrics-port',
    given: ['9464', { port: 9464, token: undefined }],
    other: ['0', { port: 0, token: undefined }],
    read: ({ metrics }) => metrics,
  },
  {
    variable: 'PURSER_METRICS_TOKEN',
    flag: '--metrics-token',
    given: ['f3a9c07b52e84d16', { port: undefined, token: 'f3a9c07b52e84d16' }],
    other: ['09d1b7e36c5f4a82', { port: undefined, token: '09d1b7e36c5f4a82' }],
    read: ({ metrics }) => metrics,
    isSecret: true,
  },
  {
    variable: 'PURSER_ACCESS_LOG',
    flag: '--access-log',
    given: ['on', true],
    other: ['off', false],
    read: ({ accessLog }) => accessLog,
  },
  {
    variable: 'PURSER_HOST',
    flag: '--host',
    given: ['0.0.0.0', '0.0.0.0'],
    other: ['::1', '::1'],
    read: ({ host }) => host,
  },
  {
    variable: 'PURSER_PORT',
    flag: '--port',
    given: ['9000', 9000],
    other: ['0', 0],
    read: ({ port }) => port,
  },
  {
    variable: 'PURSER_DATABASE',
    flag: '--database',
    given: ['sqlite:/srv/purser/ledger.db', { kind: 'sqlite', path: '/srv/purser/ledger.db' }],
    other: ['postgresql://u:p@host/purser', { kind: 'postgres', url: 'postgresql://u:p@host/purser' }],
    read: ({ database }) => database,
    isSecret: true,
  },
  {
    variable: 'PURSER_PROOF_SECRET',
    flag: '--proof-secret',
    given: [secret, [secret]],
    other: [`${otherSecret},${secret}`, [otherSecret, secret]],
    read: ({ proofSecrets }) => proofSecrets,
    isSecret: true,
  },
  {
    variable: 'PURSER_BOOTSTRAP_SANDBOX_KEY',
    flag: '--bootstrap-sandbox-key',
    given: [sandboxKey, sandboxKey],
    other: ['svc_sand_another-chosen', 'svc_sand_another-chosen'],
    read: ({ bootstrapKeys }) => bootstrapKeys.sandbox,
    isSecret: true,
  },
  {
    variable: 'PURSER_BOOTSTRAP_PRODUCTION_KEY',
    flag: '--bootstrap-production-key',
    given: [productionKey, productionKey],
    other: ['svc_prod_another-chosen', 'svc_prod_another-chosen'],
    read: ({ bootstrapKeys }) => bootstrapKeys.production,
    isSecret: true,
  },
  {
    variable: 'PURSER_PUBLIC_URL',
    flag: '--public-url',
    given: ['https://purser.example.com', 'https://purser.example.com'],
    other: ['http://127.0.0.1:9000/', 'http://127.0.0.1:9000/'],
    read: ({ publicUrl }) => publicUrl,
  },
  {
    variable: 'PURSER_TRUSTED_PROXIES',
    flag: '--trusted-proxies',
    given: ['127.0.0.1, 10.0.0.0/8', ['127.0.0.1', '10.0.0.0/8']],
    other: ['2001:db8::/32', ['2001:db8::/32']],
    read: ({ trustedProxies }) => trustedProxies,
  },
  {
    variable: 'PURSER_LOG_LEVEL',
    flag: '--log-level',
    given: ['debug', 'debug'],
    other: ['silent', 'silent'],
    read: ({ logLevel }) => logLevel,
  },
]
for (const { variable, flag, given, other, read, isSecret } of settings) {
  test(`${variable} comes from the environment, and ${flag} takes precedence`, (context) => {
    const folder = folderFor(context)
    const environment = { [variable]: other[0] }
    assert.deepEqual(read(config([], environment, folder)), other[1])
    assert.deepEqual(read(config([flag, given[0]], environment, folder)), given[1])
    assert.deepEqual(read(config([`${flag}=${given[0]}`], environment, folder)), given[1])
  })

  test(`${variable} can come from an .env file, and the environment takes precedence`, (context) => {
    const folder = folderFor(context)
    writeFileSync(join(folder, '.env'), `# a comment\n\n${variable}="${given[0]}"\nUNRELATED=1\n`)
    assert.deepEqual(read(config([], {}, folder)), given[1])
    assert.deepEqual(read(config([], { [variable]: other[0] }, folder)), other[1])
    assert.deepEqual(read(config([flag, other[0]], {}, folder)), other[1])
  })

  if (!isSecret) continue
  test(`${variable}_FILE is the path of a secret file, relative to the folder of the service`, (context) => {
    const folder = folderFor(context)
    mkdirSync(join(folder, 'secrets'))
    const path = join(folder, 'secrets', 'one')
    writeFileSync(path, `${given[0]}\n`)
    assert.deepEqual(read(config([], { [`${variable}_FILE`]: path }, folder)), given[1])
    assert.deepEqual(read(config([], { [`${variable}_FILE`]: 'secrets/one' }, folder)), given[1])
    assert.deepEqual(read(config([flag, other[0]], { [`${variable}_FILE`]: path }, folder)), other[1])
    writeFileSync(join(folder, '.env'), `${variable}_FILE=secrets/one\n`)
    assert.deepEqual(read(config([], {}, folder)), given[1])
  })
}

test('An empty variable next to a secret file is not a second value, so that it can unset that of an image', (context) => {
  const folder = folderFor(context)
  writeFileSync(join(folder, 'secret'), secret)
  const environment = { PURSER_PROOF_SECRET: '', PURSER_PROOF_SECRET_FILE: 'secret' }
  assert.deepEqual(config([], environment, folder).proofSecrets, [secret])
})

test('Several proof secrets are separated by commas, with or without spaces', (context) => {
  const folder = folderFor(context)
  const text = ` ${secret} ,${otherSecret}`
  assert.deepEqual(config([], { PURSER_PROOF_SECRET: text }, folder).proofSecrets, [secret, otherSecret])
})

test("A secret's length is measured in bytes, so non-ASCII letters count for more", (context) => {
  const folder = folderFor(context)
  const short = 'éàüößñçø'.repeat(2)
  assert.deepEqual(config([], { PURSER_PROOF_SECRET: short }, folder).proofSecrets, [short])
})

for (const level of logLevels) {
  test(`The log level ${level} is valid`, (context) => {
    assert.equal(config(['--log-level', level], {}, folderFor(context)).logLevel, level)
  })
}

test('PURSER_WORKERS must be 1 on SQLite', (context) => {
  const folder = folderFor(context)
  config(['--workers', '1'], {}, folder)
  assert.deepEqual(faults([], { PURSER_WORKERS: '2' }, folder), [
    'PURSER_WORKERS must be 1 with SQLite: one process writes the file',
  ])
})

test('PostgreSQL addresses are passed on unchanged', (context) => {
  const addresses = [
    'postgresql://purser:secret@127.0.0.1:5432/purser',
    'postgres://purser@db.example.com/purser?sslmode=require',
    'postgresql:///purser?host=/var/run/postgresql',
    'postgresql://purser@/purser?host=/var/run/postgresql&port=7710',
  ]
  for (const url of addresses) {
    assert.deepEqual(config([], { PURSER_DATABASE: url }, folderFor(context)).database, {
      kind: 'postgres',
      url,
    })
  }
})

const provider = {
  PURSER_PUBLIC_URL: 'https://purser.example.com',
  PURSER_OIDC_ISSUER: 'https://idp.example.com/realm',
  PURSER_OIDC_CLIENT_ID: 'purser',
  PURSER_OIDC_CLIENT_SECRET: 'a secret',
}

test('An identity provider needs its URL, a client id and a client secret', (context) => {
  const folder = folderFor(context)
  const known = { issuer: 'https://idp.example.com/realm', clientId: 'purser', clientSecret: 'a secret' }
  assert.deepEqual(config([], provider, folder).oidc, known)
  writeFileSync(join(folder, 'secret'), 'a secret\n')
  const { PURSER_OIDC_CLIENT_SECRET: _, ...others } = provider
  const inFile = { ...others, PURSER_OIDC_CLIENT_SECRET_FILE: 'secret' }
  assert.deepEqual(config([], inFile, folder).oidc, known)
  const onThisMachine = { ...provider, PURSER_OIDC_ISSUER: 'http://127.0.0.1:9000' }
  assert.equal(config([], onThisMachine, folder).oidc?.issuer, 'http://127.0.0.1:9000')
})

test('A provider without TLS is allowed on this machine, with a warning', (context) => {
  const folder = folderFor(context)
  for (const issuer of ['http://127.0.0.1:9000', 'http://localhost:9000/realm', 'http://[::1]:9000']) {
    const [warning = ''] = warningsOf(config([], { ...provider, PURSER_OIDC_ISSUER: issuer }, folder))
    assert(warning.startsWith(`PURSER_OIDC_ISSUER is ${issuer}, without TLS`), warning)
  }
  assert.deepEqual(warningsOf(config([], provider, folder)), [])
  assert.deepEqual(warningsOf(config([], {}, folder)), [])
})

test('Guessable keys and secrets are refused, with a command to create good ones, unless a test on this machine allows them', (context) => {
  const folder = folderFor(context)
  const weak = {
    PURSER_BOOTSTRAP_SANDBOX_KEY: 'svc_sand_password',
    PURSER_BOOTSTRAP_PRODUCTION_KEY: 'svc_prod_changeme',
    PURSER_PROOF_SECRET: 'password'.repeat(4),
  }
  assert.deepEqual(faults([], weak, folder), [
    'PURSER_PROOF_SECRET: secret 1 repeats itself and can be guessed; make one with: openssl rand -hex 32',
    weakKey('PURSER_BOOTSTRAP_SANDBOX_KEY', 'svc_sand_'),
    weakKey('PURSER_BOOTSTRAP_PRODUCTION_KEY', 'svc_prod_'),
  ])
  const allowed = config([], { ...weak, PURSER_ALLOW_WEAK_KEYS: 'on' }, folder)
  assert.equal(allowed.bootstrapKeys.sandbox, 'svc_sand_password')
  assert.match(warningsOf(allowed)[0] ?? '', /^PURSER_ALLOW_WEAK_KEYS is on: /)
  const [elsewhere] = faults([], { PURSER_ALLOW_WEAK_KEYS: 'on', PURSER_HOST: '0.0.0.0' }, folder)
  assert.match(elsewhere ?? '', /^PURSER_ALLOW_WEAK_KEYS is for tests on this machine: /)
  // A typical choice in tests, and the service's own output, are accepted.
  for (const rest of ['s'.repeat(32), 'conformance-suite-01', 'x9'.repeat(16)]) {
    config([], { PURSER_BOOTSTRAP_SANDBOX_KEY: `svc_sand_${rest}` }, folder)
  }
})

test('Keys chosen by the operator are known, so that they do not count as mistyped', (context) => {
  const folder = folderFor(context)
  const both = { PURSER_BOOTSTRAP_SANDBOX_KEY: sandboxKey, PURSER_BOOTSTRAP_PRODUCTION_KEY: productionKey }
  assert.deepEqual(chosenKeys(config([], both, folder)), new Set([sandboxKey, productionKey]))
  const one = { PURSER_BOOTSTRAP_PRODUCTION_KEY: productionKey }
  assert.deepEqual(chosenKeys(config([], one, folder)), new Set([productionKey]))
  assert.deepEqual(chosenKeys(config([], {}, folder)), new Set())
})

const badPort = (text: string) =>
  `PURSER_PORT must be a whole number from 0 to 65535, not ${JSON.stringify(text)}`
const badKey = (name: string, prefix: string) =>
  `${name} must begin with ${prefix}, followed by 8 or more printable characters; make one with: echo "${prefix}$(openssl rand -hex 24)"`
const weakKey = (name: string, prefix: string) =>
  `${name} can be guessed; make a good one with: echo "${prefix}$(openssl rand -hex 24)" (PURSER_ALLOW_WEAK_KEYS=on accepts it for tests)`
const sandboxName = 'PURSER_BOOTSTRAP_SANDBOX_KEY'
const productionName = 'PURSER_BOOTSTRAP_PRODUCTION_KEY'

const wrong: readonly (readonly [environment: Record<string, string>, fault: string | RegExp])[] = [
  [{ PURSER_HOST: '' }, 'PURSER_HOST is empty; leave it out for 127.0.0.1'],
  [{ PURSER_HOST: ' ' }, 'PURSER_HOST is empty; leave it out for 127.0.0.1'],
  [
    { PURSER_PUBLIC_URL: 'purser.example.com' },
    'PURSER_PUBLIC_URL must be an http or https address, not "purser.example.com"',
  ],
  ...['https://example.com/purser', 'https://example.com?a', 'https://example.com/#a'].map(
    (address) =>
      [
        { PURSER_PUBLIC_URL: address },
        `PURSER_PUBLIC_URL must be only https:// and a host, such as https://purser.example.com, not ${JSON.stringify(address)}`,
      ] as const,
  ),
  [
    { PURSER_PUBLIC_URL: 'https://me:hush@example.com' },
    'PURSER_PUBLIC_URL must contain no user and no password: write https://example.com',
  ],
  [
    { ...provider, PURSER_OIDC_CLIENT_SECRET: '' },
    'PURSER_OIDC_ISSUER, PURSER_OIDC_CLIENT_ID and PURSER_OIDC_CLIENT_SECRET go together; set all three or none',
  ],
  [
    { ...provider, PURSER_PUBLIC_URL: '' },
    'PURSER_OIDC_ISSUER needs PURSER_PUBLIC_URL, the URL to which the identity provider redirects people',
  ],
  ...[
    'http://idp.example.com',
    'http://localhost.example.com',
    'http://127.0.0.1.example.com',
    'http://127.0.0.1:9000@idp.example.com',
  ].map(
    (issuer) =>
      [
        { ...provider, PURSER_OIDC_ISSUER: issuer },
        'PURSER_OIDC_ISSUER must be an https address, unless it is on this machine',
      ] as const,
  ),
  ...['', '-1', '65536', '1e3', '80.5', ' 80', '0x50', 'http', '999999999999'].map(
    (text) => [{ PURSER_PORT: text }, badPort(text)] as const,
  ),
  ...['', 'purser.db', 'sqlite:', 'mysql://127.0.0.1'].map(
    (text) =>
      [
        { PURSER_DATABASE: text },
        `PURSER_DATABASE must be sqlite: and a file's path, such as sqlite:./data/purser.db, or a postgresql:// address, not ${JSON.stringify(text)}`,
      ] as const,
  ),
  ...['./data/purser.db ', '/srv/purser.db\r', ' ./data/purser.db', ' '].map(
    (path) =>
      [
        { PURSER_DATABASE: `sqlite:${path}` },
        `PURSER_DATABASE must be sqlite: and a path without leading or trailing whitespace, not ${JSON.stringify(`sqlite:${path}`)}`,
      ] as const,
  ),
  ...[
    'postgresql:',
    'postgres:purser',
    'postgresql://user:50%/@host/purser',
    'postgresql://user:p@ss/word@host:5432/purser',
    'postgresql://user:pass/word@host:5432/purser',
    'postgresql://user:12#ss@host:5432/purser',
    'postgresql://host:port/purser',
  ].map(
    (text) =>
      [
        { PURSER_DATABASE: text },
        'PURSER_DATABASE is no PostgreSQL address; write postgresql://user:password@host:5432/name, with special characters of the password percent-encoded',
      ] as const,
  ),
  ...['postgresql://host', 'postgres://user@host:5432/'].map(
    (text) =>
      [
        { PURSER_DATABASE: text },
        'PURSER_DATABASE names a server but no database; add its name, as in postgresql://host:5432/purser',
      ] as const,
  ),
  [
    { PURSER_DATABASE: 'postgresql://host/purser?foo=bar' },
    /^PURSER_DATABASE has the parameter foo, which is not known; those that are: host, /,
  ],
  [
    { PURSER_PROOF_SECRET: 'short' },
    'PURSER_PROOF_SECRET: secret 1 has 5 bytes and needs 32 or more; make one with: openssl rand -hex 32',
  ],
  [
    { PURSER_PROOF_SECRET: `${secret},` },
    'PURSER_PROOF_SECRET: secret 2 has 0 bytes and needs 32 or more; make one with: openssl rand -hex 32',
  ],
  [
    { PURSER_PROOF_SECRET: `${secret},${secret.slice(1)}` },
    'PURSER_PROOF_SECRET: secret 2 has 31 bytes and needs 32 or more; make one with: openssl rand -hex 32',
  ],
  [
    { PURSER_PROOF_SECRET_FILE: 'lines' },
    'PURSER_PROOF_SECRET: secret 1 contains a line break; put a comma between two secrets',
  ],
  [
    { PURSER_PROOF_SECRET: `${otherSecret},${secret}, ${otherSecret}` },
    'PURSER_PROOF_SECRET: secret 3 repeats secret 1; to replace a secret, put a new one before it, made with: openssl rand -hex 32',
  ],
  [{ [sandboxName]: productionKey }, badKey(sandboxName, 'svc_sand_')],
  [{ [sandboxName]: 'svc_sand_' }, badKey(sandboxName, 'svc_sand_')],
  [{ [sandboxName]: 'svc_sand_1234567' }, badKey(sandboxName, 'svc_sand_')],
  [{ [sandboxName]: 'svc_sand_with a space' }, badKey(sandboxName, 'svc_sand_')],
  [{ [sandboxName]: 'svc_sand_ümlaute-und-mehr' }, badKey(sandboxName, 'svc_sand_')],
  [{ [productionName]: sandboxKey }, badKey(productionName, 'svc_prod_')],
  [
    { PURSER_LOG_LEVEL: 'loud' },
    'PURSER_LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent, not "loud"',
  ],
  [
    { PURSER_LOG_LEVEL: 'INFO' },
    'PURSER_LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent, not "INFO"',
  ],
  ...['proxy.example.com', '10.0.0.0/33', '10.0.0', '10.0.0.1/', '::/129', '10.0.0.1:80', 'all'].map(
    (proxy) =>
      [
        { PURSER_TRUSTED_PROXIES: `127.0.0.1,${proxy}` },
        `PURSER_TRUSTED_PROXIES must be IP addresses or ranges, such as 127.0.0.1,10.0.0.0/8; "${proxy}" is neither`,
      ] as const,
  ),
  ...['0.0.0.0/0', '10.0.0.0/00', '::/0', '::ffff:10.0.0.0/0'].map(
    (range) =>
      [
        { PURSER_TRUSTED_PROXIES: `127.0.0.1,${range}` },
        `PURSER_TRUSTED_PROXIES contains ${range}, with which every client could choose its own address; name only the proxies`,
      ] as const,
  ),
  [{ PURSER_WORKERS: '0' }, 'PURSER_WORKERS must be a whole number from 1 to 1024, not "0"'],
  [{ PURSER_WORKERS: 'many' }, 'PURSER_WORKERS must be a whole number from 1 to 1024, not "many"'],
  [
    { PURSER_PROOF_SECRET: secret, PURSER_PROOF_SECRET_FILE: 'secret' },
    'PURSER_PROOF_SECRET and PURSER_PROOF_SECRET_FILE are both set; set one of them',
  ],
  [
    { PURSER_PROOF_SECRET_FILE: 'no-such-file' },
    /^PURSER_PROOF_SECRET_FILE names .*no-such-file, which does not exist; put the secret there, readable by this user$/,
  ],
  [
    { [`${sandboxName}_FILE`]: '.' },
    /^PURSER_BOOTSTRAP_SANDBOX_KEY_FILE names .*, which cannot be read; put the secret there, readable by this user$/,
  ],
  // The wrong file: what it contains is not shown.
  [{ PURSER_DATABASE_FILE: 'secret' }, /or a postgresql:\/\/ address$/],
  [{ PURSER_PROOF_SECRET_FILE: 'empty' }, /^PURSER_PROOF_SECRET_FILE names .*empty, which is empty; /],
]
for (const [environment, fault] of wrong) {
  test(`${JSON.stringify(environment)} is reported with the valid values`, (context) => {
    const folder = folderFor(context)
    writeFileSync(join(folder, 'secret'), secret)
    writeFileSync(join(folder, 'empty'), '\n')
    writeFileSync(join(folder, 'lines'), `${otherSecret}\n${secret}\n`)
    const [found, ...more] = faults([], environment, folder)
    assert.deepEqual(more, [])
    if (typeof fault === 'string') assert.equal(found, fault)
    else assert.match(found ?? '', fault)
  })
}

test('An IPv6 address to listen on may have the brackets of a URL', (context) => {
  const folder = folderFor(context)
  const hostOf = (text: string) => config([], { PURSER_HOST: text }, folder).host
  assert.deepEqual(['[::1]', '::1', '[::]'].map(hostOf), ['::1', '::1', '::'])
  // No address: the start says so.
  assert.equal(hostOf('[::1]:8080'), '[::1]:8080')
  assert.equal(hostOf('[127.0.0.1]'), '[127.0.0.1]')
})

test('The scheme of a URL may have capital letters', (context) => {
  const environment = { PURSER_PUBLIC_URL: 'HTTPS://Purser.example.com' }
  assert.equal(config([], environment, folderFor(context)).publicUrl, 'HTTPS://Purser.example.com')
})

test('All errors are reported at once', (context) => {
  const environment = {
    PURSER_HOST: '',
    PURSER_PORT: 'http',
    PURSER_DATABASE: 'mysql://127.0.0.1',
    PURSER_PROOF_SECRET: 'short,shorter',
    [sandboxName]: 'secret',
    [productionName]: 'secret',
    PURSER_LOG_LEVEL: 'loud',
    PURSER_WORKERS: '0',
  }
  const named = faults([], environment, folderFor(context)).map((fault) => /^PURSER_\w+/.exec(fault)?.[0])
  assert.deepEqual(named, [
    'PURSER_HOST',
    'PURSER_PORT',
    'PURSER_DATABASE',
    'PURSER_PROOF_SECRET',
    'PURSER_PROOF_SECRET',
    sandboxName,
    productionName,
    'PURSER_LOG_LEVEL',
    'PURSER_WORKERS',
  ])
})

test('A value of .env that a # would cut is an error, which does not show it', (context) => {
  const folder = folderFor(context)
  writeFileSync(join(folder, '.env'), 'PURSER_METRICS_PORT=9464\nPURSER_METRICS_TOKEN=#hush-hush-hush-hush\n')
  assert.deepEqual(faults([], {}, folder), [
    `${join(folder, '.env')}: the value in line 2 has a #, which begins a comment; put the value in quotes`,
  ])
})

test('A misspelled setting is reported with the others, wherever it is', (context) => {
  const folder = folderFor(context)
  const [portt, databse] = ['PORTT', 'DATABSE'].map((name) => `PURSER_${name}`) as [string, string]
  writeFileSync(join(folder, '.env'), `${portt}=9000\nhush-hush\nPURSER_URL=http://127.0.0.1:8080\n`)
  const environment = { [databse]: 'postgresql://u:hush@host/purser', PURSER_LOG_LEVEL: 'loud' }
  const named = [
    `${join(folder, '.env')}: line 2 sets nothing; write NAME=value, or start a comment with #`,
    `${portt} is not a setting; did you mean PURSER_PORT?`,
    `${databse} is not a setting; did you mean PURSER_DATABASE?`,
  ]
  const [file, port, database, level, ...more] = faults([], environment, folder)
  assert.deepEqual([file, port, database], named)
  assert.match(level ?? '', /^PURSER_LOG_LEVEL must be/)
  assert.deepEqual(more, [])
  // The ledger commands would use the wrong ledger.
  assert.deepEqual(readDatabase(undefined, environment, folder), { faults: named })
  const byFlag = readDatabase('sqlite:backup.db', environment, folder)
  assert.deepEqual(byFlag, { database: { kind: 'sqlite', path: join(folder, 'backup.db') } })
})

test('No error contains a secret', (context) => {
  for (const address of [
    'postgres//me:hush@host/db',
    'postgresql://me:hush@host',
    'postgresql://me:hu:sh#@host/db',
  ]) {
    const [fault = '', ...more] = faults([], { PURSER_DATABASE: address }, folderFor(context))
    assert.deepEqual(more, [])
    assert.doesNotMatch(fault, /hush|hu:sh/)
  }
  const environment = {
    PURSER_PROOF_SECRET: 'hush-hush',
    [sandboxName]: 'hush-hush',
    [productionName]: 'svc_sand_hush-hush',
  }
  const named = faults([], environment, folderFor(context))
  assert.equal(named.length, 3)
  for (const fault of named) assert.doesNotMatch(fault, /hush/)
  // The second of two secrets, after a space.
  assert.deepEqual(faults(['--proof-secret', `${secret},`, 'hush-hush'], {}, folderFor(context)), [
    'An argument belongs to no flag; put a value with spaces in quotes (--help lists the flags)',
  ])
})

test('An unreadable secret file is one error, whatever else depends on it', (context) => {
  const folder = folderFor(context)
  writeFileSync(join(folder, 'empty'), '')
  const { PURSER_OIDC_CLIENT_SECRET: _, ...signingIn } = provider
  const settings = { ...signingIn, PURSER_WORKERS: '2' }
  for (const [file, said] of [
    ['none', 'does not exist'],
    ['empty', 'is empty'],
  ] as const) {
    const environment = { ...settings, PURSER_DATABASE_FILE: file, PURSER_OIDC_CLIENT_SECRET_FILE: file }
    const [database, client, ...more] = faults([], environment, folder)
    assert.match(database ?? '', new RegExp(`^PURSER_DATABASE_FILE names .*${file}, which ${said}; put`))
    assert.match(client ?? '', new RegExp(`^PURSER_OIDC_CLIENT_SECRET_FILE names .*${file}, which ${said}; `))
    assert.deepEqual(more, [])
    const reading = readDatabase(undefined, { PURSER_DATABASE_FILE: file }, folder)
    assert.deepEqual(reading, { faults: [database] })
  }
})

const badFlags: readonly (readonly string[])[] = [
  ['--prot', '9000'],
  ['--port'],
  ['-p', '9000'],
  ['9000'],
  ['--proof-secret-file', 'secret'],
]
for (const argv of badFlags) {
  test(`The flags ${JSON.stringify(argv)} are refused, with a pointer to their list`, (context) => {
    const [fault, ...more] = faults(argv, {}, folderFor(context))
    assert.match(fault ?? '', /\(--help lists the flags\)$/)
    assert.deepEqual(more, [])
  })
}

test('A wrong flag does not hide other errors', (context) => {
  const named = faults(['--prot', '9000'], { PURSER_LOG_LEVEL: 'loud' }, folderFor(context))
  assert.equal(named.length, 2)
})

test('A .env file may begin with a byte order mark', (context) => {
  const folder = folderFor(context)
  writeFileSync(join(folder, '.env'), '\uFEFFPURSER_PORT=9000\n')
  const reading = readConfig([], {}, folder)
  assert.equal('config' in reading && reading.config.port, 9000)
})

test('An unreadable .env file is an error, and a missing one is not', (context) => {
  const folder = folderFor(context)
  config([], {}, folder)
  mkdirSync(join(folder, '.env'))
  const [fault = ''] = faults([], {}, folder)
  assert(fault.startsWith(`${join(folder, '.env')} cannot be read`), fault)
})

const wrongMetrics = [
  {
    settings: { PURSER_METRICS_PORT: 'http' },
    fault: /^PURSER_METRICS_PORT must be a whole number from 0 to 65535/,
  },
  {
    settings: { PURSER_METRICS_PORT: '8080' },
    fault: /^PURSER_METRICS_PORT and PURSER_PORT are both 8080; choose another port/,
  },
  {
    settings: { PURSER_METRICS_TOKEN: 'short' },
    fault: /^PURSER_METRICS_TOKEN can be guessed: .* openssl rand -hex 24$/,
  },
  { settings: { PURSER_METRICS_TOKEN: 'passwordpassword' }, fault: /^PURSER_METRICS_TOKEN can be guessed/ },
  {
    settings: { PURSER_METRICS_TOKEN: 'with a space and more' },
    fault: /^PURSER_METRICS_TOKEN must be printable characters without spaces/,
  },
  { settings: { PURSER_ACCESS_LOG: 'yes' }, fault: /^PURSER_ACCESS_LOG must be on or off, not "yes"$/ },
]

for (const { settings: wrong, fault } of wrongMetrics) {
  test(`${JSON.stringify(wrong)} is refused, with the valid values`, (context) => {
    const [named = '', ...others] = faults([], wrong, folderFor(context))
    assert.match(named, fault)
    assert.deepEqual(others, [])
    // A token is a secret, so it is not echoed.
    assert.ok(!named.includes(wrong.PURSER_METRICS_TOKEN ?? 'none of these'))
  })
}

test('--help lists every setting with its flag, variable and default', () => {
  const lines = helpText().split('\n')
  for (const { variable, flag } of [...settings, { variable: 'PURSER_WORKERS', flag: '--workers' }]) {
    assert.equal(
      lines.filter((line) => line.includes(` ${flag} `) && line.includes(` ${variable} `)).length,
      1,
    )
  }
  assert.match(helpText(), /PURSER_PORT .*\(8080\)/)
  assert.match(helpText(), /PURSER_HOST .*\(127\.0\.0\.1\)/)
  assert.match(helpText(), /PURSER_DATABASE .*\(sqlite:\.\/data\/purser\.db\)/)
})

test('A relative database path is relative to the folder of the service', (context) => {
  const folder = folderFor(context)
  const { database } = config(['--database', 'sqlite:./ledger/../my.db'], {}, folder)
  assert.deepEqual(database, { kind: 'sqlite', path: join(folder, 'my.db') })
})

function config(
  argv: readonly string[],
  environment: Record<string, string | undefined>,
  folder: string,
): Config {
  const reading = readConfig(argv, environment, folder)
  assert('config' in reading, JSON.stringify(reading))
  return reading.config
}

function faults(
  argv: readonly string[],
  environment: Record<string, string | undefined>,
  folder: string,
): readonly string[] {
  const reading = readConfig(argv, environment, folder)
  assert('faults' in reading, JSON.stringify(reading))
  return reading.faults
}

function folderFor(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('PURSER_SELLER_VERIFICATION is none or required', () => {
  for (const [text, required] of [
    ['none', false],
    ['required', true],
  ] as const) {
    const reading = readConfig([], { PURSER_SELLER_VERIFICATION: text }, '/')
    assert('config' in reading)
    assert.equal(reading.config.requiresVerifiedSellers, required)
  }
  assert.deepEqual(readConfig([], { PURSER_SELLER_VERIFICATION: 'yes' }, '/'), {
    faults: ['PURSER_SELLER_VERIFICATION must be none or required, not "yes"'],
  })
})
