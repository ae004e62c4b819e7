import { Purser, PurserError } from '@purser/client'

import { explainClientError } from './client-errors.ts'
import { findKnownConnection, isExposed, keyRemedy } from './connection.ts'
import { CommandError } from './exit-codes.ts'
import type { Finding } from './finding.ts'
import type { Io } from './io.ts'

/** Checks this command, its profiles, and the service that it calls. */
export async function examineClient(profile: string | undefined, io: Io): Promise<Finding[]> {
  const findings = [examineNode(process.versions.node)]
  try {
    const { url, key, source } = findKnownConnection(profile, io)
    if (isExposed(url)) {
      const finding = `${url} is not https: keys are sent in the clear; put the service behind a TLS proxy`
      findings.push({ mark: 'warn', subject: 'address', finding })
    }
    const clock = await examineClock(url, io)
    findings.push(...clock)
    // If the service does not answer, one line is enough.
    const answers = clock.some(({ subject }) => subject === 'clock')
    if (answers) {
      const store = await examineReady(url, io)
      // Without its store the service cannot check a key.
      const keyFinding: Finding =
        store.mark === 'ok' || key === undefined
          ? await examineKey({ url, key, source }, io)
          : { mark: 'warn', subject: 'key', finding: 'not checked, because the store is down' }
      findings.push(store, keyFinding)
    }
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    findings.push({ mark: 'fail', subject: 'profiles', finding: error.message })
  }
  return findings
}

/** The min Node version of the command-line parser. */
const oldestNode = [22, 12] as const

function examineNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isNewEnough = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])
  return {
    mark: isNewEnough ? 'ok' : 'fail',
    subject: 'command',
    finding: isNewEnough
      ? `runs on Node ${version}`
      : `runs on Node ${version}, and needs ${oldestNode.join('.')} or newer`,
  }
}

/** Timeout for the service. */
const timeoutMs = 5_000

/** Proofs are valid for five minutes either way, so a clock difference of half a minute is acceptable. */
const clockLimitsMs = { fail: 300_000, warn: 30_000 }

async function examineClock(
  url: string,
  { calledAs, now, interruption }: Pick<Io, 'calledAs' | 'now' | 'interruption'>,
): Promise<Finding[]> {
  const askedMs = now()
  const signal = AbortSignal.any([interruption(), AbortSignal.timeout(timeoutMs)])
  const answer = await fetch(`${url}/healthz`, { signal, redirect: 'manual' }).catch(() => undefined)
  interruption().throwIfAborted()
  if (!answer?.ok) {
    const why = answer ? `answers ${answer.status} at /healthz` : 'does not answer'
    const finding = `${url} ${why}; start the service with ${calledAs} serve, or name it with PURSER_URL or --profile`
    return [{ mark: 'fail', subject: 'service', finding }]
  }
  await answer.body?.cancel()
  const tookMs = now() - askedMs
  return [
    { mark: 'ok', subject: 'service', finding: `${url} answers (${tookMs} ms)` },
    clockFinding(answer.headers.get('date'), askedMs + tookMs / 2),
  ]
}

function clockFinding(date: string | null, hereMs: number): Finding {
  const subject = 'clock'
  const thereMs = date === null ? Number.NaN : Date.parse(date)
  if (Number.isNaN(thereMs)) {
    return { mark: 'warn', subject, finding: 'the service does not report its time' }
  }
  // The header has whole seconds, so assume the middle of the second.
  const apartMs = Math.abs(thereMs + 500 - hereMs)
  const mark = apartMs >= clockLimitsMs.fail ? 'fail' : apartMs >= clockLimitsMs.warn ? 'warn' : 'ok'
  const apart = `${Math.round(apartMs / 1_000)} s`
  const finding =
    mark === 'ok'
      ? `agrees with the service's within ${apart === '0 s' ? '1 s' : apart}`
      : `differs from the service's by ${apart}, and proofs are valid for 300 s; synchronize both with NTP`
  return { mark, subject, finding }
}

async function examineReady(url: string, { interruption }: Pick<Io, 'interruption'>): Promise<Finding> {
  const purser = new Purser({ baseUrl: url, apiKey: null, timeout: timeoutMs, maxRetries: 0 })
  try {
    await purser.health.ready({ signal: interruption() })
    return { mark: 'ok', subject: 'store', finding: 'the service reaches its store' }
  } catch (error) {
    if (!(error instanceof PurserError)) throw error
    const finding = 'the service cannot reach its store; see its log'
    return { mark: 'fail', subject: 'store', finding }
  }
}

async function examineKey(
  { url, key, source }: { readonly url: string; readonly key: string | undefined; readonly source: string },
  io: Io,
): Promise<Finding> {
  const subject = 'key'
  const { interruption } = io
  if (key === undefined) {
    const finding = `there is no key; ${keyRemedy(io)}`
    return { mark: 'warn', subject, finding }
  }
  const purser = new Purser({ baseUrl: url, apiKey: key, timeout: timeoutMs, maxRetries: 0 })
  try {
    // Every role may call this.
    await purser.transactions.list({ limit: 1 }, { signal: interruption() }).page()
    return { mark: 'ok', subject, finding: `the service accepts the key (${source})` }
  } catch (error) {
    const explained = explainClientError(error, io)
    if (!explained) throw error
    return { mark: 'fail', subject, finding: `${explained.message} (${source})` }
  }
}
