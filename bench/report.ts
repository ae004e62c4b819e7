import { cpus, loadavg, release, totalmem, type } from 'node:os'

import type { DiskReport } from './disk.ts'
import { Histogram } from './histogram.ts'
import type { LedgerCheck } from './ledger.ts'
import type { Options } from './options.ts'
import type { Block } from './rig.ts'
import { medianOf, type Verdict } from './verdicts.ts'

/** The combined blocks of one kind. */
export interface Row {
  readonly name: string
  readonly service: Block['service']
  readonly flow: Block['flow']
  readonly clients: number
  readonly spread: Block['spread']
  readonly blocks: number
  readonly operations: number
  /** Medians over the blocks. */
  readonly perSecond: number
  readonly serverCpuMicros: number
  /** The processor time of the database server, if there is one and it is visible. */
  readonly databaseCpuMicros?: number
  readonly clientShare: number
  /** Of all operations of all blocks. */
  readonly latencyMicros: { readonly p50: number; readonly p99: number; readonly p999: number }
}

/** All results of a run, as in `latest.json`. */
export interface Report {
  readonly at: string
  readonly isQuick: boolean
  readonly machine: Machine
  readonly disk: DiskReport
  /** The database server, if there is one. */
  readonly server?: string
  readonly rows: readonly Row[]
  readonly verdicts: readonly Verdict[]
  readonly ledger: { readonly checks: number; readonly faults: readonly string[] }
  readonly unexpectedAnswers: readonly string[]
  readonly isPassed: boolean
}

interface Machine {
  readonly processor: string
  readonly processors: number
  readonly memoryGiB: number
  readonly system: string
  readonly node: string
  /** The load average of the minute before the run: a higher one means that something else was running. */
  readonly loadBefore: number
}

export function describeMachine(): Machine {
  const processors = cpus()
  return {
    processor: processors[0]?.model.trim() ?? 'unknown',
    processors: processors.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    node: process.version,
    loadBefore: loadavg()[0] ?? 0,
  }
}

export function makeReport(parts: {
  readonly options: Options
  readonly machine: Machine
  readonly disk: DiskReport
  readonly server: string | undefined
  readonly blocks: readonly Block[]
  readonly verdicts: readonly Verdict[]
  readonly ledger: LedgerCheck
}): Report {
  const { options, machine, disk, server, blocks, verdicts, ledger } = parts
  const unexpectedAnswers = blocks.flatMap((block) =>
    block.unexpected > 0 ? [`${nameOf(block)}: ${block.unexpected} times, such as ${block.sample}`] : [],
  )
  return {
    at: new Date().toISOString(),
    isQuick: options.isQuick,
    machine,
    disk,
    ...(server !== undefined && { server }),
    rows: [...Map.groupBy(blocks, nameOf)].map(([name, alike]) => toRow(name, alike)),
    verdicts,
    ledger: { checks: ledger.checks, faults: ledger.faults },
    unexpectedAnswers,
    isPassed:
      verdicts.every(({ isMet }) => isMet) && ledger.faults.length === 0 && unexpectedAnswers.length === 0,
  }
}

export function nameOf({ service, flow, clients, spread }: Omit<Row, 'name'> | Block): string {
  const where = service === 'echo' ? '' : spread === 'hot' ? ', one mandate' : ', 1,000 mandates'
  if (service === 'raw SQL') return `raw SQL, ${clients} connections${where}`
  return `${whatOf(service, flow)}, ${clients === 1 ? 'one client' : `${clients} clients`}${where}`
}

function whatOf(service: Block['service'], flow: Block['flow']): string {
  if (service === 'service' || service === 'echo') return flow
  return service === 'service without group commit' ? `${flow} without group commit` : `${flow} by ${service}`
}

function toRow(name: string, blocks: readonly Block[]): Row {
  const [first] = blocks
  if (!first) throw new Error('a row has at least one block')
  const latency = new Histogram()
  for (const block of blocks) latency.add(new Histogram(block.latency))
  return {
    name,
    service: first.service,
    flow: first.flow,
    clients: first.clients,
    spread: first.spread,
    blocks: blocks.length,
    operations: latency.total,
    perSecond: medianOf(blocks.map(({ perSecond }) => perSecond)),
    serverCpuMicros: medianOf(blocks.map(({ cpuMicros }) => cpuMicros)),
    ...databaseCpuOf(blocks),
    clientShare: medianOf(blocks.map(({ clientShare }) => clientShare)),
    latencyMicros: {
      p50: latency.percentile(0.5),
      p99: latency.percentile(0.99),
      p999: latency.percentile(0.999),
    },
  }
}

function databaseCpuOf(blocks: readonly Block[]): Pick<Row, 'databaseCpuMicros'> {
  const known = blocks.flatMap(({ databaseMicros }) => (databaseMicros === undefined ? [] : [databaseMicros]))
  return known.length > 0 ? { databaseCpuMicros: medianOf(known) } : {}
}

/** The report for people. */
export function printReport(report: Report): string {
  const { machine, disk, ledger } = report
  return [
    '',
    `${machine.processor}, ${machine.processors} processors, ${machine.memoryGiB} GiB, ${machine.system}, Node ${machine.node}`,
    `${disk.folder}: ${disk.fileSystem}; 4 KiB appended and synced in ${millis(disk.syncMicros.p50)} ms (p99 ${millis(disk.syncMicros.p99)} ms)`,
    ...(report.server === undefined ? [] : [report.server]),
    '',
    ...table(report.rows),
    '',
    ...report.verdicts.map(verdictLine),
    ...(report.verdicts.length > 0 ? [''] : []),
    ...warnings(report),
    `Ledger: checked ${ledger.checks} times, ${ledger.faults.length === 0 ? 'every sum agrees' : 'FAULTS:'}`,
    ...ledger.faults.slice(0, 20).map((fault) => `  ${fault}`),
    ...report.unexpectedAnswers.map((line) => `UNEXPECTED ANSWERS: ${line}`),
    report.isPassed ? 'Passed.' : 'FAILED.',
  ].join('\n')
}

function table(rows: readonly Row[]): string[] {
  const nameWidth = Math.max(...rows.map(({ name }) => name.length))
  const hasDatabase = rows.some(({ databaseCpuMicros }) => databaseCpuMicros !== undefined)
  const head = [
    'per second',
    'p50 ms',
    'p99 ms',
    'p99.9 ms',
    'CPU µs each',
    ...(hasDatabase ? ['database µs'] : []),
    'client CPU',
  ]
  const line = (name: string, cells: readonly string[]) =>
    name.padEnd(nameWidth) +
    cells.map((cell, index) => cell.padStart((head[index] ?? '').length + 2)).join('')
  return [
    line('', head),
    ...rows.map((row) =>
      line(row.name, [
        Math.round(row.perSecond).toLocaleString('en'),
        millis(row.latencyMicros.p50),
        millis(row.latencyMicros.p99),
        millis(row.latencyMicros.p999),
        row.serverCpuMicros.toFixed(1),
        ...(hasDatabase ? [row.databaseCpuMicros?.toFixed(1) ?? ''] : []),
        `${Math.round(row.clientShare * 100)} %`,
      ]),
    ),
  ]
}

function verdictLine({ name, values, median, bound, unit, isMet }: Verdict): string {
  const target = 'least' in bound ? `≥ ${bound.least}` : `≤ ${bound.most}`
  const range = `${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)} in ${values.length} rounds`
  return `${isMet ? 'ok    ' : 'MISSED'}  ${name}: ${median.toFixed(2)}${unit} (target ${target}${unit}; ${range})`
}

/** What limits the validity of the figures. */
function warnings({ machine, disk, rows }: Report): string[] {
  const found: string[] = []
  if (disk.isMemory) found.push('This folder is in memory: nothing was made durable, so name one on a disk.')
  if (machine.processors < 2) found.push('One processor: the client takes its time from the server.')
  if (machine.loadBefore > machine.processors / 4) {
    found.push(`The machine was busy (load ${machine.loadBefore.toFixed(1)}): use only the ratios.`)
  }
  const limited = rows.filter(({ clientShare }) => clientShare > busyShare)
  if (limited.length > 0) {
    found.push(
      `The client had no time left, so the server can do more: ${limited.map(({ name }) => name).join('; ')}.`,
    )
  }
  return found.map((line) => `Note: ${line}`)
}

/** If a client is busier than this, it limits the figure. */
const busyShare = 0.97

function millis(micros: number): string {
  return (micros / 1000).toFixed(micros < 10_000 ? 2 : 1)
}
