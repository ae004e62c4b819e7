import { Argument, Command } from '@commander-js/extra-typings'

import { bashCompletion } from '../completion/bash.ts'
import { describeCommands, type Completed } from '../completion/described.ts'
import { fishCompletion } from '../completion/fish.ts'
import { zshCompletion } from '../completion/zsh.ts'
import type { Surroundings } from '../surroundings.ts'

const shells: Readonly<Record<'bash' | 'zsh' | 'fish', (commands: readonly Completed[]) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
}

export function completionCommand({ print }: Surroundings) {
  return new Command('completion')
    .summary('print what completes purser in a shell')
    .description(
      'Prints a script that completes the commands, options and words of purser in a shell. Its first lines say where to put it. It completes what is called as purser, not as npx purser; they say how to have both. Print it anew after an upgrade.',
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish'] as const))
    .action((shell, _, command) => {
      const program = command.parent
      if (program) print(shells[shell](describeCommands(program)).trimEnd())
    })
}
