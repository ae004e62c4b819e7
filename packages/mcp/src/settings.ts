import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

import { isAmount } from '@purser/client'

/** How the server is set up. */
export interface Settings {
  readonly url: string
  readonly agentKey: string
  readonly agentId: string | undefined
  readonly mandateId: string | undefined
  /** The folder of the purchases; undefined keeps them in memory. */
  readonly stateFolder: string | undefined
  readonly privateHosts: readonly string[]
  /** A person is asked before a payment above this amount; undefined asks nobody. */
  readonly askAbove: string | undefined
  /** Undefined serves on standard input and output. */
  readonly http: { readonly port: number; readonly token: string | undefined } | undefined
}

/** The settings, or every fault in them, each with what would be right. */
export type SettingsReading =
  | { readonly settings: Settings }
  | { readonly faults: readonly string[] }
  | { readonly help: string }
  | { readonly isVersion: true }

type Environment = Readonly<Record<string, string | undefined>>

/** The settings from the command line and the environment. */
export function readSettings(argv: readonly string[], environment: Environment): SettingsReading {
  const faults: string[] = []
  const flags = readFlags(argv, faults)
  if (flags.help) return { help }
  if (flags.version) return { isVersion: true }
  const text = (name: string) => environment[name]?.trim() || undefined
  const url = text('PURSER_URL') ?? 'http://127.0.0.1:8080'
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) {
    faults.push('PURSER_URL must be an http or https address, such as http://127.0.0.1:8080')
  }
  const agentKey = readSecret('PURSER_AGENT_KEY', environment, faults)
  if (agentKey === undefined) {
    faults.push('PURSER_AGENT_KEY, or PURSER_AGENT_KEY_FILE, must hold a key of the role agent')
  }
  const port = flags.http === undefined ? undefined : readPort(flags.http, faults)
  const token = readSecret('PURSER_MCP_TOKEN', environment, faults)
  if (token !== undefined && token.length < minTokenLength) {
    faults.push(`PURSER_MCP_TOKEN must have ${minTokenLength} characters or more`)
  }
  const askAbove = text('PURSER_MCP_ASK_ABOVE')
  if (askAbove !== undefined && !isAmount(askAbove)) {
    faults.push('PURSER_MCP_ASK_ABOVE must be an amount such as 10.00, or 0 to ask about every payment')
  }
  if (faults.length > 0) return { faults }
  const state = text('PURSER_MCP_STATE')
  return {
    settings: {
      url,
      agentKey: agentKey ?? '',
      agentId: text('PURSER_AGENT_ID'),
      mandateId: text('PURSER_MANDATE_ID'),
      stateFolder: state === 'memory' ? undefined : resolve(state ?? standardFolder(environment)),
      privateHosts: (text('PURSER_MCP_PRIVATE_HOSTS') ?? '').split(/[\s,]+/).filter((host) => host !== ''),
      askAbove,
      http: port === undefined ? undefined : { port, token },
    },
  }
}

const minTokenLength = 24
const standardPort = 8181

const help = `purser-mcp: lets a model pay within its mandate, over MCP

  purser-mcp                serves on standard input and output
  purser-mcp --http [port]  serves streamable HTTP on 127.0.0.1 (port ${standardPort}; 0 picks one)
  purser-mcp --help, --version

Settings, from the environment:
  PURSER_AGENT_KEY          key of the role agent (or PURSER_AGENT_KEY_FILE: a file that holds it)
  PURSER_URL                where the service answers (http://127.0.0.1:8080)
  PURSER_AGENT_ID           the agent that the key should speak for; found out when unset
  PURSER_MANDATE_ID         the only mandate to pay from; any of the agent's when unset
  PURSER_MCP_STATE          folder that remembers purchases, or: memory
  PURSER_MCP_PRIVATE_HOSTS  hosts that may be private and asked without TLS: localhost:3000,10.0.0.5:8443
  PURSER_MCP_ASK_ABOVE      amount above which a person must approve a payment, such as 10.00; 0 is every payment.
                            Asks by elicitation; clients without it are refused. Nobody is asked when unset
  PURSER_MCP_TOKEN          bearer token for --http (or PURSER_MCP_TOKEN_FILE); made at start when unset`

function readFlags(argv: readonly string[], faults: string[]) {
  // The port is optional, which parseArgs does not know.
  const args = argv.flatMap((word, index) => {
    const next = argv[index + 1]
    return word === '--http' && (next === undefined || next.startsWith('-'))
      ? [`--http=${standardPort}`]
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
    faults.push(`${error instanceof Error ? error.message : String(error)} (--help lists the flags)`)
    return {}
  }
}

function readPort(text: string, faults: string[]): number {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65_535) faults.push('--http takes a port from 0 to 65535')
  return port
}

function readSecret(name: string, environment: Environment, faults: string[]): string | undefined {
  const text = environment[name]?.trim() || undefined
  const path = environment[`${name}_FILE`]?.trim() || undefined
  if (path === undefined) return text
  if (text !== undefined) faults.push(`${name} and ${name}_FILE are both set; set one of them`)
  try {
    const secret = readFileSync(path, 'utf8').trim()
    if (secret === '') faults.push(`${name}_FILE names ${path}, which is empty`)
    return secret
  } catch {
    faults.push(`${name}_FILE names ${path}, which cannot be read`)
    return undefined
  }
}

/** Where programs keep what should outlive them, for this user. */
function standardFolder(environment: Environment): string {
  const base =
    environment['XDG_STATE_HOME'] ??
    (process.platform === 'win32' ? environment['LOCALAPPDATA'] : undefined) ??
    join(homedir(), '.local', 'state')
  return join(base, 'purser-mcp')
}
