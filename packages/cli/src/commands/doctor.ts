import { Command } from '@commander-js/extra-typings'

import { exitCodes } from '../exit-codes.ts'
import { examineClient } from '../examine-client.ts'
import type { Finding } from '../finding.ts'
import { harmless, harmlessJson } from '../output/harmless.ts'
import { paint, type Colour } from '../output/table.ts'
import { importService } from '../service-commands.ts'
import type { Surroundings } from '../surroundings.ts'

const marks: Readonly<Record<Finding['mark'], readonly [sign: string, colour: Colour]>> = {
  ok: ['✓', 'green'],
  warn: ['!', 'yellow'],
  fail: ['✗', 'red'],
}

export function doctorCommand(surroundings: Surroundings) {
  return new Command('doctor')
    .summary('look whether all is well, and say what would help')
    .description(
      'Looks at this command (Node, profiles), at the service that it calls (does it answer, is its clock right, does it take the key) and, where the service is installed, at what the settings of this folder name: ledger, schema, rights of files, secrets, free disk. It changes nothing. The exit code is 1 when something is marked ✗.',
    )
    .option('--profile <name>', 'look at the service of this profile')
    .option('--json', 'one JSON document instead of words')
    .action(async (options) => {
      const findings = await examineAll(options, surroundings)
      const isWell = findings.every(({ mark }) => mark !== 'fail')
      surroundings.print(
        options.json
          ? harmlessJson({ is_well: isWell, findings }, 2)
          : findings.map((finding) => lineOf(finding, surroundings)).join('\n'),
      )
      if (!isWell) surroundings.exitWith(exitCodes.failed)
    })
}

async function examineAll(
  options: { readonly profile?: string },
  surroundings: Surroundings,
): Promise<readonly Finding[]> {
  const service = await importService()
  return [
    ...(await examineClient(options.profile, surroundings)),
    ...(service ? await service.examineService(surroundings) : []),
  ]
}

function lineOf({ mark, subject, finding }: Finding, paper: Pick<Surroundings, 'hasColours'>): string {
  const [sign, colour] = marks[mark]
  return `${paint(sign, colour, paper)} ${subject.padEnd(9)} ${harmless(finding)}`
}
