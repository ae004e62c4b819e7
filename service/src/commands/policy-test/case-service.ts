import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { readConfig } from '../../settings/config.ts'
import { startService } from '../../start/start.ts'

/** An answer of the service. */
export interface CaseAnswer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

/** A separate service whose clock stands still until it is set. */
export interface CaseService {
  setClock: (nowMs: number) => void
  post: (path: string, body: object) => Promise<CaseAnswer>
  stop: () => Promise<void>
}

/** Starts a service with an empty ledger in a temporary folder, reachable only from this machine. */
export async function startCaseService(): Promise<CaseService> {
  const folder = mkdtempSync(join(tmpdir(), 'purser-policy-test-'))
  const discard = () => rmSync(folder, { recursive: true, force: true })
  const clock = { nowMs: Date.now() }
  try {
    const settings = {
      PURSER_PORT: '0',
      PURSER_DATABASE: `sqlite:${join(folder, 'purser.db')}`,
      PURSER_LOG_LEVEL: 'silent',
      PURSER_RATE_LIMITS: 'off',
      PURSER_PROOF_SECRET: randomBytes(32).toString('hex'),
    }
    const reading = readConfig([], settings, folder)
    if (!('config' in reading)) throw new Error('the settings of the temporary service are invalid')
    const service = await startService(reading.config, { now: () => clock.nowMs })
    const headers = {
      authorization: `Bearer ${service.minted?.sandbox ?? ''}`,
      'content-type': 'application/json',
    }
    return {
      setClock(nowMs) {
        clock.nowMs = nowMs
      },
      async post(path, body) {
        const init = { method: 'POST', headers, body: JSON.stringify(body) }
        const answer = await fetch(service.url + path, { ...init, signal: AbortSignal.timeout(30_000) })
        return { status: answer.status, body: (await answer.json()) as CaseAnswer['body'] }
      },
      async stop() {
        await service.stop()
        discard()
      },
    }
  } catch (error) {
    discard()
    throw error
  }
}
