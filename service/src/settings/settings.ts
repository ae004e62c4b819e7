export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** One setting: its variable, its flag, its default (empty for none), and its meaning. */
export interface SettingFlag {
  readonly name: string
  readonly flag: string
  readonly standard: string
  readonly meaning: string
  readonly isSecret?: boolean
}

/** All settings; `config.ts` reads them. */
export const settings = {
  host: { name: 'PURSER_HOST', flag: 'host', standard: '127.0.0.1', meaning: 'address to listen on' },
  port: { name: 'PURSER_PORT', flag: 'port', standard: '8080', meaning: 'port to listen on; 0 picks one' },
  database: {
    name: 'PURSER_DATABASE',
    flag: 'database',
    standard: 'sqlite:./data/purser.db',
    meaning: 'where the ledger lies: sqlite: and a path, or postgresql://user:password@host:5432/name',
    isSecret: true,
  },
  proofSecret: {
    name: 'PURSER_PROOF_SECRET',
    flag: 'proof-secret',
    standard: '',
    meaning: '32 bytes or more, comma-separated: the first signs, all verify; made at first start when unset',
    isSecret: true,
  },
  sandboxKey: {
    name: 'PURSER_BOOTSTRAP_SANDBOX_KEY',
    flag: 'bootstrap-sandbox-key',
    standard: '',
    meaning: 'the first operator key of the sandbox, instead of a minted one',
    isSecret: true,
  },
  productionKey: {
    name: 'PURSER_BOOTSTRAP_PRODUCTION_KEY',
    flag: 'bootstrap-production-key',
    standard: '',
    meaning: 'the first operator key of production, instead of a minted one',
    isSecret: true,
  },
  allowWeakKeys: {
    name: 'PURSER_ALLOW_WEAK_KEYS',
    flag: 'allow-weak-keys',
    standard: 'off',
    meaning:
      'on: takes bootstrap keys and proof secrets that can be guessed, for tests, on a loopback host only',
  },
  logLevel: {
    name: 'PURSER_LOG_LEVEL',
    flag: 'log-level',
    standard: 'info',
    meaning: `one of ${logLevels.join(', ')}`,
  },
  workers: {
    name: 'PURSER_WORKERS',
    flag: 'workers',
    standard: '',
    meaning: 'number of processes; one for every two cores when unset, and always 1 with SQLite',
  },
  accountLanes: {
    name: 'PURSER_ACCOUNT_LANES',
    flag: 'account-lanes',
    standard: 'off',
    meaning:
      'on: a batch for each account, for PostgreSQL that spreads accounts over machines, as Citus does',
  },
  rateLimits: {
    name: 'PURSER_RATE_LIMITS',
    flag: 'rate-limits',
    standard: 'on',
    meaning:
      'on or off: limits of requests by key, by account, and of wrong keys by address, in each process',
  },
  rateLimitKey: {
    name: 'PURSER_RATE_LIMIT_KEY',
    flag: 'rate-limit-key',
    standard: '300000/10',
    meaning: 'requests of one key: how many at once, and in how many seconds so many come back',
  },
  rateLimitAccount: {
    name: 'PURSER_RATE_LIMIT_ACCOUNT',
    flag: 'rate-limit-account',
    standard: '600000/10',
    meaning: 'requests of one account, as for a key',
  },
  rateLimitAddress: {
    name: 'PURSER_RATE_LIMIT_ADDRESS',
    flag: 'rate-limit-address',
    standard: '2000/40',
    meaning: 'wrong keys and started sessions from one address (IPv6: one /64), as for a key',
  },
  maxConnections: {
    name: 'PURSER_MAX_CONNECTIONS',
    flag: 'max-connections',
    standard: '10000',
    meaning: 'max open connections of each process; one more is closed at once',
  },
  metricsPort: {
    name: 'PURSER_METRICS_PORT',
    flag: 'metrics-port',
    standard: '',
    meaning:
      'port on which GET /metrics answers Prometheus, on the same address; none when unset, 0 picks one',
  },
  metricsToken: {
    name: 'PURSER_METRICS_TOKEN',
    flag: 'metrics-token',
    standard: '',
    meaning:
      'what GET /metrics asks for as a bearer token; without a port of its own it answers on the main port',
    isSecret: true,
  },
  accessLog: {
    name: 'PURSER_ACCESS_LOG',
    flag: 'access-log',
    standard: 'off',
    meaning: 'on: the log has a line for each request, without queries, bodies and keys',
  },
  drainSeconds: {
    name: 'PURSER_DRAIN_SECONDS',
    flag: 'drain-seconds',
    standard: '0',
    meaning: 'how long SIGTERM lets requests go on, with /readyz at 503, before the service stops',
  },
  sellerVerification: {
    name: 'PURSER_SELLER_VERIFICATION',
    flag: 'seller-verification',
    standard: 'none',
    meaning:
      'required: a seller collects only after it has shown, by DNS or a file, that its domain is its own',
  },
  publicUrl: {
    name: 'PURSER_PUBLIC_URL',
    flag: 'public-url',
    standard: '',
    meaning: 'the address under which people reach the service, such as https://purser.example.com',
  },
  oidcIssuer: {
    name: 'PURSER_OIDC_ISSUER',
    flag: 'oidc-issuer',
    standard: '',
    meaning: 'the identity provider that signs people in to the console (OpenID Connect); none when unset',
  },
  oidcClientId: {
    name: 'PURSER_OIDC_CLIENT_ID',
    flag: 'oidc-client-id',
    standard: '',
    meaning: 'what the identity provider calls this service',
  },
  oidcClientSecret: {
    name: 'PURSER_OIDC_CLIENT_SECRET',
    flag: 'oidc-client-secret',
    standard: '',
    meaning: 'what the identity provider gave this service to show who it is',
    isSecret: true,
  },
} as const satisfies Record<string, SettingFlag>

export type SettingKey = keyof typeof settings

/** Each setting as the `serve` command and `init` tell it. */
export function settingFlags(): readonly SettingFlag[] {
  return Object.values(settings)
}

/** A line for each setting: its flag, its variable, what it means, and its standard value. */
export function settingsHelp(): string[] {
  return Object.values(settings).map(({ name, flag, standard, meaning }) => {
    const value = standard === '' ? '' : ` (${standard})`
    return `  --${flag.padEnd(26)} ${name.padEnd(34)} ${meaning}${value}`
  })
}
