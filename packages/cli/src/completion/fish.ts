import type { Completed, CompletedOption } from './described.ts'

/** The fish completion of `purser`, with descriptions. */
export function fishCompletion(commands: readonly Completed[]): string {
  return `# purser completion fish: save it in a file that fish reads, such as
#   mkdir -p ~/.config/fish/completions
#   purser completion fish > ~/.config/fish/completions/purser.fish
# It completes what is called as purser. In a checkout this makes npx purser such a command:
#   alias purser "npx purser"
function __purser_at --description 'whether the words so far name this command of purser'
    set -l command
    for word in (commandline --tokenize --cut-at-cursor --current-process)[2..]
        switch "$command $word"
            case ${commands
              .filter(({ path }) => path.length > 0)
              .map(({ path }) => `' ${path.join(' ')}'`)
              .join(' ')}
                set command "$command $word"
        end
    end
    test "$command" = "$argv[1]"
end
complete --command purser --no-files
${commands.flatMap(fishLines).join('\n')}
`
}

function fishLines({ path, words, options }: Completed): string[] {
  const at = quoted(`__purser_at ${quoted(path.map((word) => ` ${word}`).join(''))}`)
  return [
    ...words.map(
      ({ word, meaning }) =>
        `complete --command purser --condition ${at} --arguments ${word} --description ${quoted(meaning)}`,
    ),
    ...options.map(
      (option) =>
        `complete --command purser --condition ${at} --long-option ${option.word.slice(2)} --description ${quoted(option.meaning)}${fishValue(option)}`,
    ),
  ]
}

function fishValue({ value }: CompletedOption): string {
  if (value === 'none') return ''
  if (value === 'file') return ' --require-parameter --force-files'
  if (value === 'any') return ' --exclusive'
  return ` --exclusive --arguments ${quoted(value.join(' '))}`
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
