import { Command } from '@commander-js/extra-typings'

import { action, type Io } from './io.ts'

export function policyCommand(io: Io) {
  return new Command('policy').summary('test mandates against cases').addCommand(
    new Command('test')
      .summary('run the cases of YAML files: payments, and what should be decided about them')
      .description(
        'Runs the cases of YAML files. Each has a mandate, payments that were made before, a payment, and the expected decision. They run in a temporary service with its own clock and ledger, which is removed afterwards; no other service is contacted. The exit code is 1 if a case fails.',
      )
      .argument('<file...>')
      .option('--json', 'print one JSON document instead of text')
      .action(
        action(io, async (files, options) => {
          const { testPolicies } = await import('./policy-test/test-policies.ts')
          await testPolicies(files, options, io)
        }),
      ),
  )
}
