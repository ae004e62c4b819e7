import { Command } from '@commander-js/extra-typings'

import { exitCodes } from '../exit-codes.ts'
import { examineClient } from '../examine-client.ts'
import type { Finding } from '../finding.ts'
import { harmless, harmlessJson } from '../output/harmless.ts'
import { paint, type Colour } from '../output/table.ts'
import { importService } from '../service-commands.ts'
import type { Io } from '../io.ts'

const marks: Readonly<Record<Finding['mark'], readonly [sign: string, colour: Colour]>> = {
  ok: ['✓', 'green'],
  warn: ['!', 'yellow'],
  fail: ['✗', 'red'],
}

export function doctorCommand(io: Io) {
  return new Command('doctor')
    .summary('check the setup and suggest fixes')
    .description(
      'Checks this command (Node, profiles), the service that it calls (availability, clock, key) and, where the service is installed, what the settings of this folder refer to: ledger, schema, file permissions, secrets, free disk space. It changes nothing. The exit code is 1 if a check is marked ✗.',
    )
    .option('--profile <name>', 'check the service of this profile')
    .option('--json', 'print one JSON document')
    .action(async (options) => {
      const findings = await examineAll(options, io)
      const isWell = findings.every(({ mark }) => mark !== 'fail')
      io.print(
        options.json
          ? harmlessJson({ is_well: isWell, findings }, 2)
          : findings.map((finding) => lineOf(finding, io)).join('\n'),
      )
      if (!isWell) io.exitWith(exitCodes.failed)
    })
}

async function examineAll(options: { readonly profile?: string }, io: Io): Promise<readonly Finding[]> {
  const service = await importService()
  return [...(await examineClient(options.profile, io)), ...(service ? await service.examineService(io) : [])]
}

function lineOf({ mark, subject, finding }: Finding, paper: Pick<Io, 'hasColours'>): string {
  const [sign, colour] = marks[mark]
  return `${paint(sign, colour, paper)} ${subject.padEnd(9)} ${harmless(finding)}`
}
