import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import type { TestClock } from '@purser/client'

import { connect } from '../../connection.ts'
import { timeCell } from '../../output/cells.ts'
import { showRecord } from '../../output/show.ts'
import type { Column } from '../../output/table.ts'
import type { Io } from '../../io.ts'
import { clientCommand } from '../client-command.ts'

const columns: readonly Column<TestClock>[] = [
  { title: 'now (utc)', cell: ({ now }) => timeCell(now) },
  { title: 'seconds ahead', cell: ({ offset_seconds: seconds }) => String(seconds) },
]

export function testClockCommand(io: Io) {
  return new Command('test-clock')
    .summary("show and advance the clock of the account's sandbox")
    .addCommand(showCommand(io))
    .addCommand(advanceCommand(io))
}

function showCommand(io: Io) {
  return clientCommand('show')
    .summary('show the time in the sandbox')
    .action(async (options) => {
      const { testClock } = await connect(options, io)
      showRecord(columns, await testClock.get({ signal: io.interruption() }), options, io)
    })
}

function advanceCommand(io: Io) {
  return clientCommand('advance')
    .summary('advance the clock of the sandbox, to try what a day or a month changes')
    .description(
      "Advances the clock of the account's sandbox: proofs, limits, approvals, authorizations and mandates use it as the current time. It never goes back. Production and other accounts keep the time of the service.",
    )
    .argument('<duration>', 'how far: 30s, 15m, 12h or 90d', parseSeconds)
    .action(async (seconds, options) => {
      const { testClock } = await connect(options, io)
      showRecord(columns, await testClock.advance(seconds, { signal: io.interruption() }), options, io)
    })
}

const unitSeconds = { s: 1, m: 60, h: 3_600, d: 86_400 } as const

function parseSeconds(text: string): number {
  const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  const seconds = unit ? Number(count) * unitSeconds[unit as keyof typeof unitSeconds] : 0
  if (seconds > 0) return seconds
  throw new InvalidArgumentError('It must be a duration such as 30s, 15m, 12h or 90d.')
}
