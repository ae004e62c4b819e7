import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

import { isAmount } from '@purser/client'

import { canBeHost } from './web/addresses.ts'

/** The server's settings. */
export interface Settings {
  readonly url: string
  readonly agentKey: string
  readonly agentId: string | undefined
  readonly mandateId: string | undefined
  /** The folder for purchase records; undefined keeps them in memory. */
  readonly stateFolder: string | undefined
  readonly privateHosts: readonly string[]
  /** A person must approve payments above this amount; undefined for none. */
  readonly askAbove: string | undefined
  /** Undefined serves on standard input and output. */
  readonly http: { readonly port: number; readonly token: string | undefined } | undefined
}

/** The settings, or every error in them, with a remedy each. */
export type SettingsReading =
  | { readonly settings: Settings }
  | { readonly errors: readonly string[] }
  | { readonly help: string }
  | { readonly isVersion: true }

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the settings from the command line and the environment. */
export function readSettings(argv: readonly string[], environment: Environment): SettingsReading {
  const errors: string[] = []
  const flags = readFlags(argv, errors)
  if (flags.help) return { help }
  if (flags.version) return { isVersion: true }
  const text = (name: string) => environment[name]?.trim() || undefined
  const url = text('PURSER_URL') ?? 'http://127.0.0.1:8080'
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) {
    errors.push('PURSER_URL must be an http or https address, such as http://127.0.0.1:8080')
  }
  const agentKey = readSecret('PURSER_AGENT_KEY', environment, errors)
  if (agentKey === undefined) {
    errors.push('PURSER_AGENT_KEY, or PURSER_AGENT_KEY_FILE, must contain a key with the role agent')
  }
  const port = flags.http === undefined ? undefined : readPort(flags.http, errors)
  const token = readSecret('PURSER_MCP_TOKEN', environment, errors)
  if (token !== undefined && token.length < minTokenLength) {
    errors.push(`PURSER_MCP_TOKEN must have ${minTokenLength} characters or more`)
  }
  const unknown = Object.keys(environment).filter(
    (name) => name.startsWith('PURSER_MCP_') && !mcpSettings.has(name),
  )
  errors.push(...unknown.map((name) => `${name} is not a setting; see --help`))
  const askAbove = text('PURSER_MCP_ASK_ABOVE')
  if (askAbove !== undefined && !isAmount(askAbove)) {
    errors.push('PURSER_MCP_ASK_ABOVE must be an amount such as 10.00, or 0 to ask about every payment')
  }
  const privateHosts = (text('PURSER_MCP_PRIVATE_HOSTS') ?? '').split(/[\s,]+/).filter((host) => host !== '')
  if (!privateHosts.every(canBeHost)) {
    errors.push('PURSER_MCP_PRIVATE_HOSTS must list hosts such as localhost:3000, without scheme, path and *')
  }
  if (errors.length > 0) return { errors }
  const state = text('PURSER_MCP_STATE')
  return {
    settings: {
      url,
      agentKey: agentKey ?? '',
      agentId: text('PURSER_AGENT_ID'),
      mandateId: text('PURSER_MANDATE_ID'),
      stateFolder: state === 'memory' ? undefined : resolve(state ?? defaultFolder(environment)),
      privateHosts,
      askAbove,
      http: port === undefined ? undefined : { port, token },
    },
  }
}

/** A mistyped name would silently turn off, for example, asking a person. */
const mcpSettings = new Set([
  'PURSER_MCP_ASK_ABOVE',
  'PURSER_MCP_PRIVATE_HOSTS',
  'PURSER_MCP_STATE',
  'PURSER_MCP_TOKEN',
  'PURSER_MCP_TOKEN_FILE',
])
const minTokenLength = 24
const defaultPort = 8181

const help = `purser-mcp: lets a model pay within its mandate, over MCP

  purser-mcp                serves on standard input and output
  purser-mcp --http [port]  serves streamable HTTP on 127.0.0.1 (port ${defaultPort}; 0 picks one)
  purser-mcp --help, --version

Settings, from the environment:
  PURSER_AGENT_KEY          key with the role agent (or PURSER_AGENT_KEY_FILE: a file that contains it)
  PURSER_URL                URL of the service (default http://127.0.0.1:8080)
  PURSER_AGENT_ID           the agent of the key; determined automatically by default
  PURSER_MANDATE_ID         the only mandate to pay from; by default any of the agent's
  PURSER_MCP_STATE          folder for purchase records, or: memory
  PURSER_MCP_PRIVATE_HOSTS  hosts that may be private and without TLS, such as localhost:3000,10.0.0.5:8443
  PURSER_MCP_ASK_ABOVE      amount above which a person must approve a payment, such as 10.00; 0 means every payment.
                            Needs a client with elicitation. By default nobody is asked
  PURSER_MCP_TOKEN          bearer token for --http (or PURSER_MCP_TOKEN_FILE); generated at startup by default`

function readFlags(argv: readonly string[], errors: string[]) {
  // parseArgs does not support an optional port.
  const args = argv.flatMap((word, index) => {
    const next = argv[index + 1]
    return word === '--http' && (next === undefined || next.startsWith('-'))
      ? [`--http=${defaultPort}`]
      : [word]
  })
  try {
    const options = {
      http: { type: 'string' },
      help: { type: 'boolean' },
      version: { type: 'boolean' },
    } as const
    return parseArgs({ args, options, strict: true, allowPositionals: false }).values
  } catch (error) {
    errors.push(`${error instanceof Error ? error.message : String(error)} (--help lists the flags)`)
    return {}
  }
}

function readPort(text: string, errors: string[]): number {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65_535) errors.push('--http takes a port from 0 to 65535')
  return port
}

function readSecret(name: string, environment: Environment, errors: string[]): string | undefined {
  const text = environment[name]?.trim() || undefined
  const path = environment[`${name}_FILE`]?.trim() || undefined
  if (path === undefined) return text
  if (text !== undefined) errors.push(`${name} and ${name}_FILE are both set; set one of them`)
  try {
    const secret = readFileSync(path, 'utf8').trim()
    if (secret === '') errors.push(`${name}_FILE names ${path}, which is empty`)
    return secret
  } catch {
    errors.push(`${name}_FILE names ${path}, which cannot be read`)
    return undefined
  }
}

/** The user's folder for persistent program state; the XDG base directory specification requires absolute paths. */
function defaultFolder(environment: Environment): string {
  const configured = environment['XDG_STATE_HOME'] ?? ''
  const base =
    (isAbsolute(configured) ? configured : undefined) ??
    (process.platform === 'win32' ? environment['LOCALAPPDATA'] : undefined) ??
    join(homedir(), '.local', 'state')
  return join(base, 'purser-mcp')
}
