import { Argument, Command } from '@commander-js/extra-typings'

import { bashCompletion } from '../completion/bash.ts'
import { describeCommands, type Completed } from '../completion/described.ts'
import { fishCompletion } from '../completion/fish.ts'
import { zshCompletion } from '../completion/zsh.ts'
import type { Io } from '../io.ts'

const shells: Readonly<Record<'bash' | 'zsh' | 'fish', (commands: readonly Completed[]) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
}

export function completionCommand({ print }: Io) {
  return new Command('completion')
    .summary('print a shell completion script')
    .description(
      'Prints a script that completes the commands, options and values of purser in a shell. Its first lines say how to install it. It completes purser, but not npx purser; the first lines say how to get both. Regenerate it after an upgrade.',
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish'] as const))
    .action((shell, _, command) => {
      const program = command.parent
      if (program) print(shells[shell](describeCommands(program)).trimEnd())
    })
}
