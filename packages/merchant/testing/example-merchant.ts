import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'

import { Purser, wrapFetchWithPayment } from '@purser/client'

import type { TestService } from '../../../service/testing/service.ts'
import { shareTestService } from '../../../service/testing/shared-service.ts'

/** An example's server in a separate process, and an agent that may spend 10.00 there. */
export interface ExampleMarket {
  readonly url: string
  /** A fetch function that pays. */
  readonly fetchPaid: typeof fetch
  readonly spent: () => Promise<string>
}

/** Starts an example merchant with Node: a script and its arguments, in which `PORT` is replaced by the port. */
export async function openExample(
  context: TestContext,
  command: readonly string[],
  { ready = /open at/ }: { ready?: RegExp } = {},
): Promise<ExampleMarket> {
  const service = await shareTestService()
  const setting = await runSetUp(service)
  const port = await findFreePort()
  const url = `http://localhost:${port}`
  const child = spawn(
    process.execPath,
    command.map((part) => (part === 'PORT' ? String(port) : part)),
    {
      env: {
        ...process.env,
        PORT: String(port),
        PUBLIC_URL: url,
        PURSER_URL: service.url,
        PURSER_MERCHANT_KEY: setting('MERCHANT_KEY'),
        NEXT_TELEMETRY_DISABLED: '1',
      },
      // A separate process group, so that its child processes end with it.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  const ended = new Promise((resolve) => child.once('close', resolve))
  context.after(async () => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
    await ended
  })
  let output = ''
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
        if (ready.test(output)) resolve()
      })
    }
    void ended.then(() => reject(new Error(`the example ended:\n${output}`)))
  })

  const client = new Purser({ apiKey: setting('AGENT_KEY'), baseUrl: service.url })
  const mandateId = setting('MANDATE_ID')
  return {
    url,
    fetchPaid: wrapFetchWithPayment(fetch, {
      client,
      agentId: setting('AGENT_ID'),
      mandateId,
      onDecision: (decision) => assert.equal(decision.outcome, 'approved', JSON.stringify(decision)),
    }),
    spent: async () => (await client.mandates.get(mandateId)).spent_total,
  }
}

/** Sets up the merchant and the agent like the guide does, and returns the output. */
async function runSetUp({ url, sandboxKey }: TestService): Promise<(name: string) => string> {
  const script = join(import.meta.dirname, '../../../examples/merchant-setup/set-up.js')
  const env = { ...process.env, PURSER_URL: url, PURSER_SANDBOX_KEY: sandboxKey }
  const { stdout } = await promisify(execFile)(process.execPath, [script], { env })
  return (name) => new RegExp(`^export PURSER_${name}=(\\S+)$`, 'm').exec(stdout)?.[1] ?? assert.fail(stdout)
}

/** A free port; the examples listen on a given one. */
async function findFreePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
