import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import type { Proof } from '@purser/wire/payments'

import { allAtOnce, labelOf, makePurchase, openLoadClient } from '../testing/load.ts'
import { postgres18 } from '../testing/postgres.ts'
import { readMetrics } from '../testing/http/read-metrics.ts'
import { makeFolder, startProcess, type ReadyProcess } from './process.ts'

const key = 'svc_sand_2f0c5d7e9b1a4c6d8e0f1a2b3c4d5e6f'
/** Min number of requests that are sent while the processes are restarted. */
const requests = Number(process.env['ROLLING_REQUESTS'] ?? 500)
/**
 * How long each of 32 buyers waits between two purchases. More load finds no more bugs, and slows other tests
 * down.
 */
const betweenPurchasesMs = requests > 1_000 ? 0 : 500
const drainSeconds = 2
const metricsToken = 'metrics-0f5d1c2b3a49586776859403'

const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/operators.md'), 'utf8')

interface Balancer {
  readonly name: string
  readonly program: string
  /** Starts it with the guide's configuration, which is written to a file. */
  readonly flags: (folder: string, configuration: string) => string[]
}

const balancers: readonly Balancer[] = [
  {
    name: 'haproxy',
    program: '/usr/sbin/haproxy',
    flags: (folder, configuration) => {
      writeFileSync(join(folder, 'haproxy.cfg'), configuration)
      return ['-db', '-f', join(folder, 'haproxy.cfg')]
    },
  },
  {
    name: 'nginx',
    program: '/usr/sbin/nginx',
    flags: (folder, configuration) => {
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (use) => `${use}_temp_path ${folder}/${use};`,
      )
      const own = `daemon off; pid ${folder}/nginx.pid; error_log stderr warn; events {}`
      writeFileSync(
        join(folder, 'nginx.conf'),
        `${own}\nhttp { access_log off; ${temporary.join(' ')}\n${configuration}\n}\n`,
      )
      return ['-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf')]
    },
  },
]

// They mostly wait.
describe('Rolling restarts', { concurrency: true }, () => {
  for (const { name, program, flags } of balancers) {
    const missing = existsSync(program) ? false : `${name} is not installed here (apt-get install ${name})`
    test(
      `Two processes behind ${name}, configured as in the guide, are restarted one after the other, and no request is lost`,
      { skip: missing },
      async (context) => {
        const folder = makeFolder(context)
        const database = await postgres18.createDatabase()
        context.after(database.drop)
        const [front, ...ports] = (await allAtOnce(3, freePort)) as [number, number, number]
        const start = (port: number) =>
          startProcess(context, {
            folder,
            settings: {
              PURSER_DATABASE: database.url,
              PURSER_PORT: String(port),
              PURSER_WORKERS: '1',
              PURSER_DRAIN_SECONDS: String(drainSeconds),
              PURSER_BOOTSTRAP_SANDBOX_KEY: key,
              PURSER_METRICS_TOKEN: metricsToken,
              PURSER_LOG_LEVEL: 'warn',
            },
          })
        const services: ReadyProcess[] = []
        for (const port of ports) services.push(await start(port))
        const configuration = configurationOf(name, { 8000: front, 8081: ports[0] ?? 0, 8082: ports[1] ?? 0 })
        const saidByBalancer = await startBalancer(context, program, flags(folder, configuration), front)

        const client = openLoadClient(`http://127.0.0.1:${front}`, key, 32)
        context.after(client.close)
        const purchases = await allAtOnce(8, () => makePurchase(client))
        const load = { requests, sent: 0, rolls: 0, isRolling: true }
        const lost: string[] = []
        const verified: number[] = purchases.map(() => 0)
        const ask = async (what: () => Promise<{ status: number }>) => {
          load.sent += 1
          const label = await what().then(
            (answer) => (answer.status < 300 ? undefined : labelOf(answer as never)),
            String,
          )
          if (label !== undefined) lost.push(`roll ${load.rolls}: ${label}`)
        }
        const buyers = allAtOnce(32, async (buyer) => {
          const place = buyer % purchases.length
          const purchase = purchases[place] ?? assert.fail('there is a purchase')
          while (load.isRolling || load.sent < load.requests) {
            let proof: Proof | undefined
            await ask(async () => {
              const answer = await client.askForProof(purchase, '0.01')
              proof = answer.body?.proof as Proof | undefined
              return answer
            })
            if (!proof) continue
            await ask(async () => {
              const answer = await client.verify(proof as Proof)
              if (answer.status === 200) verified[place] = (verified[place] ?? 0) + 1
              return answer
            })
            await sleep(betweenPurchasesMs)
          }
        })
        do {
          for (const place of [0, 1]) {
            load.rolls += 1
            const ending = await services[place]?.kill('SIGTERM')
            assert.deepEqual([ending?.code, ending?.stderr], [0, ''])
            const restarted = await start(ports[place] ?? 0)
            services[place] = restarted
            await untilItIsSentRequests(restarted.url)
          }
        } while (load.sent < load.requests)
        load.isRolling = false
        await buyers

        context.diagnostic(`${load.sent} requests, ${load.rolls} restarts, ${lost.length} lost`)
        assert.deepEqual(lost, [], saidByBalancer())
        const spent = await Promise.all(
          purchases.map(async ({ mandateId }) =>
            Number((await client.send('GET', `/mandates/${mandateId}`)).body.spent_total),
          ),
        )
        assert.deepEqual(
          spent.map((amount) => Math.round(amount * 100)),
          verified,
        )
      },
    )
  }
})

const requestCount = /^http_server_request_duration_seconds_count\{.*"POST"/

/** As in the guide, the next process is stopped only when the balancer uses the restarted one again. */
async function untilItIsSentRequests(url: string): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    const series = await readMetrics(`${url}/metrics`, metricsToken)
    if ([...series.keys()].some((name) => requestCount.test(name))) return
    await sleep(100)
  }
  assert.fail('the load balancer sent the restarted process no request within a minute')
}

/** The guide's configuration with this test's ports. */
function configurationOf(name: string, ports: Readonly<Record<string, number>>): string {
  const block = new RegExp(`\`\`\`${name}\n([^]*?)\`\`\``).exec(guide)?.[1] ?? ''
  const configuration = block.replaceAll(
    /127\.0\.0\.1:(\d+)/g,
    (_, port: string) => `127.0.0.1:${ports[port]}`,
  )
  assert.doesNotMatch(configuration, /undefined/)
  assert.match(configuration, new RegExp(String(ports['8082'])))
  return configuration
}

/** Returns what it has logged so far. */
async function startBalancer(
  context: TestContext,
  program: string,
  flags: readonly string[],
  port: number,
): Promise<() => string> {
  const balancer = spawn(program, flags, { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  balancer.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  const ended = new Promise((resolve) => balancer.once('exit', resolve))
  context.after(async () => {
    balancer.kill('SIGTERM')
    await ended
  })
  for (let attempt = 0; !(await answers(port)); attempt++) {
    assert.ok(attempt < 100 && balancer.exitCode === null, said)
    await sleep(100)
  }
  return () => said
}

async function answers(port: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined)
  return answer?.status === 200
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}
