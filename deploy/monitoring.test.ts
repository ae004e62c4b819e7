import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, test } from 'node:test'

import { parse } from 'yaml'

import { catalogue, family } from '../service/src/metrics/catalogue.ts'
import { addUp } from '../service/src/metrics/families.ts'
import { metricOf, namesOf, readMetrics } from '../service/testing/http/read-metrics.ts'
import { serviceStores } from '../service/testing/service-stores.ts'
import { issueProof, preparePurchase, startTestService, verifyProof } from '../service/testing/service.ts'
import { projectFolder } from '../tools/source-files.ts'

const folder = join(projectFolder, 'deploy')
const read = (path: string) => readFileSync(join(folder, path), 'utf8')

interface Dashboard {
  readonly panels: readonly Panel[]
}

interface Panel {
  readonly id: number
  readonly title: string
  readonly targets?: readonly { readonly expr: string }[]
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>
}

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[]
}

const dashboard = JSON.parse(read('grafana/purser-dashboard.json')) as Dashboard
const rules = (parse(read('prometheus/purser.rules.yaml')) as Rules).groups.flatMap((group) => group.rules)

describe('promtool', { skip: isMissing('promtool') }, () => {
  const cases = [
    ['finds no fault in the alert rules', 'check', 'rules', 'purser.rules.yaml'],
    ['finds no fault in the configuration', 'check', 'config', 'prometheus.yaml'],
    [
      'sees each alert fire when it should, and stay quiet otherwise',
      'test',
      'rules',
      'purser.rules.test.yaml',
    ],
  ]
  for (const [what, ...args] of cases) {
    test(`${what}`, () => {
      const options = { cwd: join(folder, 'prometheus'), encoding: 'utf8', timeout: 60_000 } as const
      const { status, stdout, stderr } = spawnSync('promtool', args, options)
      assert.equal(status, 0, stdout + stderr)
    })
  }

  test('sees PurserQueueFilling fire if one of two workers has a full queue', (context) => {
    const labels = { job: 'purser', instance: 'one', queue: 'ledger' }
    const series = addUp([queueOf(8_000), queueOf(0)]).map(({ name, samples }) => ({
      series: `${name}{job="purser", instance="one", queue="ledger"}`,
      values: `${Number(samples[0]?.value)}x10`,
    }))
    const expected = { exp_labels: { severity: 'critical', ...labels } }
    const alert = { eval_time: '5m', alertname: 'PurserQueueFilling', exp_alerts: [expected] }
    const cwd = mkdtempSync(join(tmpdir(), 'purser-test-'))
    context.after(() => rmSync(cwd, { recursive: true, force: true }))
    // Without annotations: only whether it fires is of interest.
    const filling = rules.find(({ alert: name }) => name === 'PurserQueueFilling')
    const group = { name: 'purser', rules: [{ ...filling, annotations: {} }] }
    writeFileSync(join(cwd, 'rules.json'), JSON.stringify({ groups: [group] }))
    const tested = { interval: '1m', input_series: series, alert_rule_test: [alert] }
    writeFileSync(join(cwd, 'test.json'), JSON.stringify({ rule_files: ['rules.json'], tests: [tested] }))
    const options = { cwd, encoding: 'utf8', timeout: 60_000 } as const
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', 'test.json'], options)
    assert.equal(status, 0, stdout + stderr)
  })

  test('sees the dashboard show 0 rather than missing data if no request fails', (context) => {
    const cwd = mkdtempSync(join(tmpdir(), 'purser-test-'))
    context.after(() => rmSync(cwd, { recursive: true, force: true }))
    const labels = 'job="purser", instance="one", http_route="/agents", http_response_status_code="200"'
    const series = { series: `http_server_request_duration_seconds_count{${labels}}`, values: '0+9x10' }
    const [panel] = dashboard.panels.filter(({ title }) => title === 'Failing requests')
    const expr = (panel?.targets?.[0]?.expr ?? '')
      .replaceAll('$__rate_interval', '5m')
      .replaceAll('$instance', '.*')
    const query = { expr, eval_time: '10m', exp_samples: [{ labels: '{}', value: 0 }] }
    const tested = { interval: '1m', input_series: [series], promql_expr_test: [query] }
    writeFileSync(join(cwd, 'test.json'), JSON.stringify({ tests: [tested] }))
    const options = { cwd, encoding: 'utf8', timeout: 60_000 } as const
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', 'test.json'], options)
    assert.equal(status, 0, stdout + stderr)
  })

  test('accepts the queries of the dashboard', (context) => {
    const queries = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    const group = { groups: [{ name: 'dashboard', rules: queries.map(recordingRule) }] }
    const cwd = mkdtempSync(join(tmpdir(), 'purser-test-'))
    context.after(() => rmSync(cwd, { recursive: true, force: true }))
    writeFileSync(join(cwd, 'dashboard.json'), JSON.stringify(group))
    const options = { cwd, encoding: 'utf8', timeout: 60_000 } as const
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', 'dashboard.json'], options)
    assert.equal(status, 0, stdout + stderr)
    assert.match(stdout, new RegExp(`${queries.length} rules found`))
  })
})

test('There are twelve alerts, and each has a test that fires it and one that does not', () => {
  assert.equal(rules.length, 12)
  const tests = parse(read('prometheus/purser.rules.test.yaml')) as {
    tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[]
  }
  const checked = tests.tests.flatMap(({ alert_rule_test: each }) => each)
  for (const { alert } of rules) {
    const counts = checked.filter(({ alertname }) => alertname === alert).map((one) => one.exp_alerts.length)
    assert.ok(counts.includes(0) && counts.includes(1), alert)
  }
})

test('Each metric of the dashboard and the alerts is exported by a running service, and each exported metric is in the guide', async (context) => {
  const told = new Set<string>()
  let isComplete = true
  for (const { missing, open } of serviceStores) {
    if (missing !== undefined) isComplete = false
    else for (const name of await namesToldOn(context, open)) told.add(name)
  }
  const queries = [
    ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ...rules.map(({ expr }) => expr),
  ]
  const asked = new Set(queries.flatMap(metricsIn))
  assert.ok(asked.size > 20, [...asked].join(' '))
  // Without a PostgreSQL server here, its metrics are taken from the catalogue.
  const known = isComplete ? told : new Set([...told, ...Object.keys(catalogue)])
  assert.deepEqual(
    [...asked].filter((name) => !known.has(name)),
    [],
  )
  if (isComplete) assert.deepEqual([...told].sort(), Object.keys(catalogue).sort())

  const guide = readFileSync(join(projectFolder, 'docs/guides/operators.md'), 'utf8')
  const documented = [...guide.matchAll(/^\| `([a-z_]+)`\s+\| (counter|gauge|histogram)\s+\|/gm)]
  assert.deepEqual(
    documented.map(([, name, type]) => [name, type]),
    Object.entries(catalogue).map(([name, { type }]) => [name, type]),
  )
})

test('The guide names labels, results and decisions as they are exported', async (context) => {
  const service = await startTestService(context, { PURSER_METRICS_PORT: '0' })
  await service.call('GET', '/agents')
  const series = [...(await readMetrics(service.metricsUrl)).keys()]
  const exported = new Set(series.flatMap((one) => [...one.matchAll(/[{,](\w+)="/g)].map(([, name]) => name)))
  const guide = readFileSync(join(projectFolder, 'docs/guides/operators.md'), 'utf8')
  const named = [...guide.matchAll(/`(\w+)="[^"`]+"`/g)].map(([, name]) => name)
  assert.ok(named.length > 0)
  for (const name of named) assert.ok(exported.has(name), name)
  for (const [metric, label] of [
    ['purser_verifications_total', 'result'],
    ['purser_proofs_total', 'decision'],
  ] as const) {
    const valueOf = new RegExp(`^${metric}\\{.*\\b${label}="(\\w+)"`)
    const values = new Set(series.flatMap((one) => valueOf.exec(one)?.[1] ?? []))
    const [, list = ''] = new RegExp(`\`${metric}\`.*\`${label}\` \\(([^)]*)\\)`).exec(guide) ?? []
    assert.deepEqual([...list.matchAll(/\w+/g)].map(([value]) => value).sort(), [...values].sort(), metric)
  }
})

test("The dashboard's panels have unique ids and do not overlap", () => {
  const { panels } = dashboard
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  const cells = panels.flatMap(({ title, gridPos: { x, y, w, h } }) => {
    assert.ok(x + w <= 24, title)
    return Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`)
  })
  assert.equal(new Set(cells).size, cells.length)
})

async function namesToldOn(
  context: { readonly after: (stop: () => Promise<void>) => void },
  open: (typeof serviceStores)[number]['open'],
): Promise<Set<string>> {
  const ledger = await open()
  context.after(() => ledger.discard())
  const service = await startTestService(context, { ...ledger.settings, PURSER_METRICS_PORT: '0' })
  await verifyProof(service, await issueProof(service, await preparePurchase(service)))
  // On a busy machine, the first read of the figures of the whole ledger may fail, and the next one is made much later.
  for (let scrapes = 1; ; scrapes++) {
    const names = namesOf(await readMetrics(service.metricsUrl))
    if (names.has('purser_ledger_read_timestamp_seconds') || scrapes === 240) return names
    await sleep(500)
  }
}

/** The metrics of a worker's queue with some waiting operations. */
function queueOf(depth: number) {
  const labels = { queue: 'ledger' }
  return [
    family('purser_queue_depth', [{ labels, value: depth }]),
    family('purser_queue_limit', [{ labels, value: 8_192 }]),
  ]
}

/** The metrics that a query uses. */
function metricsIn(query: string): string[] {
  const names = query
    .replaceAll(/"[^"]*"/g, '')
    .match(/\b(purser|http|process|nodejs)_[a-z_]+(?=\s*(\{|>|$|\)|\[))/g)
  return (names ?? [])
    .filter((name) => !name.startsWith('http_re') && !name.startsWith('http_ro'))
    .map(metricOf)
}

/** A query as a recording rule, which promtool can check. */
function recordingRule(expr: string, index: number) {
  return { record: `query_${index}`, expr: expr.replaceAll('$__rate_interval', '5m') }
}

/** Why the tests of a program are skipped, if it is not installed. */
function isMissing(program: string): string | false {
  const { error } = spawnSync(program, ['--version'])
  return error ? `${program} is not installed here (Debian's package prometheus has it)` : false
}
