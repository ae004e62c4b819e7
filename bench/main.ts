import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { drawChart } from './chart.ts'
import { measureDisk } from './disk.ts'
import { readOptions, type Options } from './options.ts'
import { makePlan, type Section } from './plan.ts'
import { Progress } from './progress.ts'
import { describeMachine, makeReport, nameOf, printReport, type Report } from './report.ts'
import { Rig, type Block } from './rig.ts'
import { judge } from './verdicts.ts'

const reading = readOptions(process.argv.slice(2))
if ('text' in reading) {
  console[reading.isFault ? 'error' : 'log'](reading.text)
  process.exitCode = reading.isFault ? 2 : 0
} else {
  const report = await measure(reading.options)
  keep(report, reading.options)
  console.log(printReport(report))
  process.exitCode = report.isPassed ? 0 : 1
}

async function measure(options: Options): Promise<Report> {
  const machine = describeMachine()
  const rig = new Rig()
  process.once('SIGINT', () => void rig.close().finally(() => process.exit(130)))
  try {
    const disk = measureDisk(rig.folder)
    await rig.open(options.store)
    const rounds = await runPlan(rig, options)
    const blocks = rounds.flat()
    const verdicts = options.flows.includes('verify') ? judge(rounds, options.store) : []
    const { ledger, server } = rig
    return makeReport({ options, machine, disk, server, blocks, verdicts, ledger })
  } finally {
    await rig.close()
  }
}

/** The measured rounds of all sections, without warm-up rounds. */
async function runPlan(rig: Rig, options: Options): Promise<Block[][]> {
  const plan = makePlan(options)
  const progress = new Progress(countBlocks(plan))
  const measured: Block[][] = []
  for (const { name, rounds, isMeasured } of plan) {
    for (const [index, orders] of rounds.entries()) {
      await rig.renew(orders)
      const blocks: Block[] = []
      for (const order of orders) {
        const block = await rig.run(order)
        if (!order.isRehearsal) blocks.push(block)
        const rate = `${Math.round(block.perSecond).toLocaleString('en')}/s`
        progress.step(`${name}, round ${index + 1} of ${rounds.length}: ${nameOf(block)}: ${rate}`)
      }
      if (isMeasured) measured.push(blocks)
    }
  }
  progress.finish()
  return measured
}

function countBlocks(plan: readonly Section[]): number {
  return plan.reduce((sum, { rounds }) => sum + rounds.reduce((blocks, round) => blocks + round.length, 0), 0)
}

/** Writes the report next to this file, and to the documentation if it is to be published. */
function keep(report: Report, { store, publish }: Options): void {
  const suffix = store === 'sqlite' ? '' : `-${store}`
  const results = fileURLToPath(new URL('results/', import.meta.url))
  mkdirSync(results, { recursive: true })
  writeFileSync(`${results}latest${suffix}.json`, `${JSON.stringify(report, undefined, 2)}\n`)
  writeFileSync(`${results}latest${suffix}.svg`, drawChart(report))
  if (!publish) return
  const docs = fileURLToPath(new URL('../docs/', import.meta.url))
  copyFileSync(`${results}latest${suffix}.json`, `${docs}bench${suffix}.json`)
  copyFileSync(`${results}latest${suffix}.svg`, `${docs}bench${suffix}.svg`)
}
