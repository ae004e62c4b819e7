#!/usr/bin/env node
/** The `purser-mcp` command; see `purser-mcp --help`. */

import { access, constants, mkdir } from 'node:fs/promises'
import { join } from 'node:path'

import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { PurserError } from '@purser/client'

import { serveHttp } from './http/serve-http.ts'
import { createMcpServer } from './mcp-server.ts'
import { openRecordFiles } from './purchases/record-files.ts'
import { readSettings, type Settings } from './settings.ts'
import { version } from './version.ts'
import { openWallet } from './wallet.ts'

// Standard output carries the protocol, so logs go to standard error.
const log = (line: string) => console.error(`purser-mcp: ${line}`)

const reading = readSettings(process.argv.slice(2), process.env)
if ('help' in reading) console.log(reading.help)
else if ('isVersion' in reading) console.log(version)
else if ('errors' in reading) {
  for (const error of reading.errors) log(error)
  process.exitCode = 2
} else {
  await serve(reading.settings).catch((error: unknown) => {
    if (!(error instanceof PurserError)) throw error
    log(`PURSER_AGENT_KEY or PURSER_URL is wrong: ${error.message}`)
    process.exitCode = 2
  })
}

async function serve(settings: Settings): Promise<void> {
  const { url, agentKey: apiKey, agentId, mandateId, privateHosts, stateFolder, askAbove, http } = settings
  if (stateFolder !== undefined && !(await isUsable(stateFolder))) return
  // Purchases belong to the agent, so that another of its keys still finds them.
  const openRecords =
    stateFolder === undefined ? undefined : (id: string) => openRecordFiles(join(stateFolder, id))
  const wallet = openWallet({ apiKey, url, agentId, mandateId, privateHosts, openRecords })
  const createServer = () => createMcpServer(wallet, { log, askAbove })

  if (!http) {
    const running = serveStdio(createServer, { onerror: (error) => log(wallet.secrets.clean(error.message)) })
    stopOnSignals(() => running.close())
    return
  }
  const running = await serveHttp(createServer, {
    ...http,
    log: (line) => log(wallet.secrets.clean(line)),
  }).catch((error: unknown) => {
    log(`cannot listen on port ${http.port}: ${String(error)}; choose another with --http <port>`)
    process.exitCode = 1
  })
  if (!running) return
  log(`serving ${running.url}`)
  if (http.token === undefined) log(`callers must send: Authorization: Bearer ${running.token}`)
  stopOnSignals(running.close)
}

/** Fail at startup, not at the first purchase. */
async function isUsable(stateFolder: string): Promise<boolean> {
  try {
    await mkdir(stateFolder, { recursive: true, mode: 0o700 })
    await access(stateFolder, constants.W_OK)
    return true
  } catch (error) {
    log(
      `cannot store purchase records: ${String(error)}; set PURSER_MCP_STATE to another folder, or to memory`,
    )
    process.exitCode = 1
    return false
  }
}

function stopOnSignals(stop: () => Promise<void>): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void stop().finally(() => process.exit()))
  }
}
