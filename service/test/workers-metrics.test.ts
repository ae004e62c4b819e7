import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { postgres18 } from '../testing/postgres.ts'
import { readMetrics, type ScrapedSeries } from '../testing/http/read-metrics.ts'
import { makeFolder, startProcess, type ReadyProcess } from './process.ts'

const skip = postgres18.missing ?? false
const token = 'c0b2f5a97d1e43688d20a4f7'
const answeredHealthz =
  'http_server_request_duration_seconds_count{http_request_method="GET",http_route="/healthz",http_response_status_code="200"}'

test('On the main port any worker reports for all', { skip }, async (context) => {
  const service = await startWorkers(context, { PURSER_METRICS_TOKEN: token })
  const url = metricsUrlOf(service)
  assert.equal(url, `${service.url}/metrics`)
  await askEachWorker(service)
  const scrapes = await Promise.all(Array.from({ length: 9 }, () => readMetrics(url, token)))
  for (const series of scrapes) {
    assert.equal(series.get(answeredHealthz), 20)
    assert.deepEqual(workersIn(series), { expected: 2, scraped: 2, ended: 0 })
  }
})

test(
  "A scrape adds up all workers on the primary's port; a hung or dead worker delays none, and no sum falls",
  { skip },
  async (context) => {
    const service = await startWorkers(context, { PURSER_METRICS_PORT: '0', PURSER_LOG_LEVEL: 'silent' })
    const url = metricsUrlOf(service)
    await askEachWorker(service)
    const all = await readMetrics(url)
    assert.equal(all.get(answeredHealthz), 20)
    assert.deepEqual(workersIn(all), { expected: 2, scraped: 2, ended: 0 })
    assert.equal(all.get('purser_open_holds'), 0)
    assert.equal(all.get('purser_queue_limit{queue="ledger"}'), 8_192, 'that of each worker')
    assert.ok((all.get('purser_database_connection_wait_seconds_count{pool="read"}') ?? 0) >= 2)

    const [hangs = 0] = workersOf(service)
    process.kill(hangs, 'SIGSTOP')
    const startedAtMs = performance.now()
    const whileHanging = await readMetrics(url)
    assert.ok(performance.now() - startedAtMs < 6_000)
    assert.deepEqual(workersIn(whileHanging), { expected: 2, scraped: 1, ended: 0 })
    assert.equal(whileHanging.get(answeredHealthz), 20)
    const oldest = 'process_start_time_seconds'
    assert.equal(whileHanging.get(oldest), all.get(oldest), 'a worker that hangs has not ended')

    process.kill(hangs, 'SIGKILL')
    let series = await readMetrics(url)
    for (; series.get('purser_workers_scraped') !== 2; series = await readMetrics(url)) {
      assert.equal(series.get(answeredHealthz), 20)
      await sleep(20)
    }
    assert.deepEqual(workersIn(series), { expected: 2, scraped: 2, ended: 1 })
    assert.equal(series.get(answeredHealthz), 20)
    // Whichever worker read them before, another one does now.
    assert.equal(series.get('purser_open_holds'), 0)
  },
)

function startWorkers(context: TestContext, settings: Record<string, string>): Promise<ReadyProcess> {
  return postgres18.createEmptyDatabase().then(({ url, drop }) => {
    context.after(() => drop())
    const always = { PURSER_DATABASE: url, PURSER_WORKERS: '2', PURSER_LOG_LEVEL: 'warn' }
    return startProcess(context, { folder: makeFolder(context), settings: { ...always, ...settings } })
  })
}

function metricsUrlOf(service: ReadyProcess): string {
  const url = /^ {2}Metrics {5}(\S+)$/m.exec(service.stdout())?.[1]
  assert.ok(url, service.stdout())
  return url
}

/** Twenty requests, distributed by the primary, each over a separate connection. */
async function askEachWorker({ url }: ReadyProcess): Promise<void> {
  for (let request = 0; request < 20; request++) {
    const answer = await fetch(`${url}/healthz`, { headers: { connection: 'close' } })
    assert.equal(answer.status, 200)
    await answer.text()
  }
}

function workersIn(series: ScrapedSeries) {
  return {
    expected: series.get('purser_workers'),
    scraped: series.get('purser_workers_scraped'),
    ended: series.get('purser_worker_ends_total'),
  }
}

function workersOf({ pid }: Pick<ReadyProcess, 'pid'>): number[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  const processes = lines.map((line) => line.trim().split(/\s+/).map(Number))
  return processes.flatMap(([child = 0, parent]) => (parent === pid ? [child] : []))
}
