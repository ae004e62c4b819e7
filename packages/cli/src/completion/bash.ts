import type { Completed } from './described.ts'

/**
 * The bash completion of `purser`. It finds the command in the typed words, and offers what can come next; it
 * starts no process.
 */
export function bashCompletion(commands: readonly Completed[]): string {
  return `# purser completion bash: save it in a file that bash reads, such as
#   mkdir -p ~/.local/share/bash-completion/completions
#   purser completion bash > ~/.local/share/bash-completion/completions/purser
# It completes what is called as purser. In a checkout this makes npx purser such a command:
#   purser() { npx purser "$@"; }
_purser() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  local path='' word index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    case "$path $word" in
${commands
  .filter(({ path }) => path.length > 0)
  .map(({ path }) => `      ' ${path.join(' ')}') path=' ${path.join(' ')}' ;;`)
  .join('\n')}
    esac
  done
  local words='' values='' files=''
  case "$path" in
${commands.map(bashCase).join('\n')}
  esac
  if [[ -n $files ]]; then
    # Names of files may hold blanks.
    local IFS=$'\\n'
    compopt -o filenames 2> /dev/null
    COMPREPLY=($(compgen -f -- "$current"))
  elif [[ $values == - ]]; then
    COMPREPLY=()
  else
    COMPREPLY=($(compgen -W "\${values:-$words}" -- "$current"))
  fi
}
complete -F _purser purser
`
}

function bashCase({ path, words, options }: Completed): string {
  const offered = [...words, ...options].map(({ word }) => word).join(' ')
  const taking = options.flatMap(({ word, value }) => {
    if (value === 'none') return []
    return [
      `        ${word}) ${value === 'file' ? 'files=1' : `values='${typeof value === 'string' ? '-' : value.join(' ')}'`} ;;`,
    ]
  })
  return [
    `    '${path.map((word) => ` ${word}`).join('')}')`,
    `      words='${offered}'`,
    ...(taking.length === 0 ? [] : ['      case "$previous" in', ...taking, '      esac']),
    '      ;;',
  ].join('\n')
}
