import type { Completed, CompletedOption } from './described.ts'

/** The zsh completion of `purser`, with descriptions. */
export function zshCompletion(commands: readonly Completed[]): string {
  return `#compdef purser
# purser completion zsh: save it in a file named _purser in a folder of $fpath, such as
#   purser completion zsh > "\${fpath[1]}/_purser"
# It completes what is called as purser. In a checkout this makes npx purser such a command:
#   purser() { npx purser "$@"; }
_purser() {
  local command='' word index
  local -a words_here options_here
  for ((index = 2; index < CURRENT; index++)); do
    word=\${words[index]}
    case "$command $word" in
${commands
  .filter(({ path }) => path.length > 0)
  .map(({ path }) => `      ' ${path.join(' ')}') command=' ${path.join(' ')}' ;;`)
  .join('\n')}
    esac
  done
  case "$command" in
${commands.map(zshCase).join('\n')}
  esac
  (( \${#words_here} )) && _describe 'command' words_here
  (( \${#options_here} )) && _describe -o 'option' options_here
}
if [ "$funcstack[1]" = _purser ]; then _purser "$@"; else compdef _purser purser; fi
`
}

function zshCase({ path, words, options }: Completed): string {
  const values = options.flatMap((option) => zshValue(option) ?? [])
  return [
    `    '${path.map((word) => ` ${word}`).join('')}')`,
    ...(values.length === 0 ? [] : ['      case "${words[CURRENT-1]}" in', ...values, '      esac']),
    `      words_here=(${words.map(({ word, meaning }) => quoted(`${word}:${meaning}`)).join(' ')})`,
    `      options_here=(${options.map(({ word, meaning }) => quoted(`${word}:${meaning}`)).join(' ')})`,
    '      ;;',
  ].join('\n')
}

function zshValue({ word, value }: CompletedOption): string | undefined {
  if (value === 'none') return undefined
  if (value === 'file') return `        ${word}) _files; return ;;`
  if (value === 'any') return `        ${word}) return ;;`
  return `        ${word}) compadd -- ${value.join(' ')}; return ;;`
}

/** A text in single quotes; a colon within it would end the word that it explains. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
