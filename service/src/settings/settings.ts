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
  port: {
    name: 'PURSER_PORT',
    flag: 'port',
    standard: '8080',
    meaning: 'port to listen on; 0 picks a free port',
  },
  database: {
    name: 'PURSER_DATABASE',
    flag: 'database',
    standard: 'sqlite:./data/purser.db',
    meaning: 'the ledger: sqlite: and a path, or postgresql://user:password@host:5432/name',
    isSecret: true,
  },
  proofSecret: {
    name: 'PURSER_PROOF_SECRET',
    flag: 'proof-secret',
    standard: '',
    meaning:
      '32 bytes or more, comma-separated: the first signs, all verify; by default generated at first start',
    isSecret: true,
  },
  sandboxKey: {
    name: 'PURSER_BOOTSTRAP_SANDBOX_KEY',
    flag: 'bootstrap-sandbox-key',
    standard: '',
    meaning: 'the first operator key of the sandbox, instead of a generated one',
    isSecret: true,
  },
  productionKey: {
    name: 'PURSER_BOOTSTRAP_PRODUCTION_KEY',
    flag: 'bootstrap-production-key',
    standard: '',
    meaning: 'the first operator key of production, instead of a generated one',
    isSecret: true,
  },
  allowWeakKeys: {
    name: 'PURSER_ALLOW_WEAK_KEYS',
    flag: 'allow-weak-keys',
    standard: 'off',
    meaning: 'on: accepts guessable bootstrap keys and proof secrets, for tests, on a loopback host only',
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
    meaning: 'number of processes; by default one for every two cores, and always 1 with SQLite',
  },
  rateLimits: {
    name: 'PURSER_RATE_LIMITS',
    flag: 'rate-limits',
    standard: 'on',
    meaning: 'on or off: rate limits by key, by account, and for wrong keys by address, in each process',
  },
  rateLimitKey: {
    name: 'PURSER_RATE_LIMIT_KEY',
    flag: 'rate-limit-key',
    standard: '300000/10',
    meaning: 'requests of one key: the burst size, and the seconds in which it refills',
  },
  rateLimitAccount: {
    name: 'PURSER_RATE_LIMIT_ACCOUNT',
    flag: 'rate-limit-account',
    standard: '600000/10',
    meaning: 'requests of one account, in the same format',
  },
  rateLimitAddress: {
    name: 'PURSER_RATE_LIMIT_ADDRESS',
    flag: 'rate-limit-address',
    standard: '2000/40',
    meaning: 'wrong keys, unknown sessions and sign-ins from one address (IPv6: one /64), in the same format',
  },
  trustedProxies: {
    name: 'PURSER_TRUSTED_PROXIES',
    flag: 'trusted-proxies',
    standard: '',
    meaning:
      'addresses of reverse proxies, comma-separated, such as 127.0.0.1,10.0.0.0/8: their X-Forwarded-For names the client',
  },
  maxConnections: {
    name: 'PURSER_MAX_CONNECTIONS',
    flag: 'max-connections',
    standard: '10000',
    meaning: 'max open connections of each process; more are closed immediately',
  },
  metricsPort: {
    name: 'PURSER_METRICS_PORT',
    flag: 'metrics-port',
    standard: '',
    meaning: 'separate port for GET /metrics, on the same address; 0 picks a free port; by default none',
  },
  metricsToken: {
    name: 'PURSER_METRICS_TOKEN',
    flag: 'metrics-token',
    standard: '',
    meaning: 'bearer token for GET /metrics; without a separate port, metrics are on the main port',
    isSecret: true,
  },
  accessLog: {
    name: 'PURSER_ACCESS_LOG',
    flag: 'access-log',
    standard: 'off',
    meaning: 'on: logs each request, without queries, bodies and keys',
  },
  drainSeconds: {
    name: 'PURSER_DRAIN_SECONDS',
    flag: 'drain-seconds',
    standard: '0',
    meaning:
      'how long requests are still accepted after SIGTERM, with /readyz at 503, before the service stops',
  },
  sellerVerification: {
    name: 'PURSER_SELLER_VERIFICATION',
    flag: 'seller-verification',
    standard: 'none',
    meaning: 'required: a seller can collect only after it has verified its domain, by DNS or a file',
  },
  publicUrl: {
    name: 'PURSER_PUBLIC_URL',
    flag: 'public-url',
    standard: '',
    meaning: 'public URL of the service, such as https://purser.example.com',
  },
  oidcIssuer: {
    name: 'PURSER_OIDC_ISSUER',
    flag: 'oidc-issuer',
    standard: '',
    meaning: 'OpenID Connect identity provider for console sign-in; by default none',
  },
  oidcClientId: {
    name: 'PURSER_OIDC_CLIENT_ID',
    flag: 'oidc-client-id',
    standard: '',
    meaning: 'client id of this service at the identity provider',
  },
  oidcClientSecret: {
    name: 'PURSER_OIDC_CLIENT_SECRET',
    flag: 'oidc-client-secret',
    standard: '',
    meaning: 'client secret of this service at the identity provider',
    isSecret: true,
  },
} as const satisfies Record<string, SettingFlag>

export type SettingKey = keyof typeof settings

/** All settings, for the `serve` command and `init`. */
export function settingFlags(): readonly SettingFlag[] {
  return Object.values(settings)
}

/** A help line for each setting: flag, variable, meaning, default. */
export function settingsHelp(): string[] {
  return Object.values(settings).map(({ name, flag, standard, meaning }) => {
    const value = standard === '' ? '' : ` (${standard})`
    return `  --${flag.padEnd(26)} ${name.padEnd(34)} ${meaning}${value}`
  })
}
