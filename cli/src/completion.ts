// Completion for bash, zsh and fish, made from the table of commands.
import { GLOBAL_FLAGS, shown, type Argument, type Command, type Flag } from './command.ts'
import { GROUPS } from './groups.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

const HELP: Flag = { name: 'help', short: 'h', summary: 'how it is used' }

interface Place {
  /** words before the completed one: none, a group, or a command */
  path: string
  words: { word: string; summary: string }[]
  flags: readonly Flag[]
  argument: Argument | undefined
}

/** All completions, by the words typed before. */
function places(table: readonly Command[]): Place[] {
  const listed = shown(table)
  const groups = Object.keys(GROUPS)
  const first = listed.filter(({ name }) => !name.includes(' ')).map(({ name, summary }) => ({ word: name, summary }))
  const top: Place = {
    path: '',
    words: [
      ...first,
      ...groups.map((word) => ({ word, summary: GROUPS[word] ?? '' })),
      { word: 'help', summary: 'explains one command' },
    ],
    flags: [...GLOBAL_FLAGS, HELP, { name: 'version', summary: 'the version of this command' }],
    argument: undefined,
  }
  const inGroups = groups.map((group) => ({
    path: group,
    words: listed
      .filter(({ name }) => name.startsWith(`${group} `))
      .map(({ name, summary }) => ({ word: name.slice(group.length + 1), summary })),
    flags: [HELP],
    argument: undefined,
  }))
  const commands = listed.map(({ name, flags, arguments: given = [] }) => ({
    path: name,
    words: (given[0]?.choices ?? []).map((word) => ({ word, summary: '' })),
    flags: [...shown(flags), ...GLOBAL_FLAGS, HELP],
    argument: given[0],
  }))
  return [top, ...inGroups, ...commands]
}

export function completionScript(shell: Shell, table: readonly Command[]): string {
  const all = places(table)
  return { bash, zsh, fish }[shell](all)
}

const spelled = ({ name, short }: Flag) => [`--${name}`, ...(short ? [`-${short}`] : [])]
/** Flags whose value is the next word. */
const takesWord = ({ value, bare }: Flag) => value !== undefined && bare === undefined
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** The path of the typed words, as a shell loop: at most two words, because no command has more. */
const pathLoop = (groups: string[]) => `  local path="" word i
  for ((i = 1; i < FIRST; i++)); do
    word="\${WORDS[OFFSET]}"
    case "$word" in
      -*) ;;
      *)
        if [ -z "$path" ]; then path="$word"; else
          case "$path" in ${groups.join('|')}) path="$path $word" ;; esac
          break
        fi
        ;;
    esac
  done
`

/** Names may contain spaces; bash 3.2 has no `mapfile`. */
const BASH_FILES = `IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$current"))`

function bash(all: Place[]): string {
  const groups = Object.keys(GROUPS)
  const loop = pathLoop(groups).replace('FIRST', 'COMP_CWORD').replace('WORDS[OFFSET]', 'COMP_WORDS[i]')
  const cases = all.map(({ path, words, flags, argument }) => {
    const valued = flags.filter(takesWord).map((flag) => {
      const reply = flag.choices
        ? `COMPREPLY=($(compgen -W ${quoted(flag.choices.join(' '))} -- "$current"))`
        : flag.files
          ? BASH_FILES
          : 'COMPREPLY=()'
      return `        ${spelled(flag).join('|')}) ${reply}; return ;;`
    })
    const names = flags.flatMap((flag) => spelled(flag).slice(0, 1)).join(' ')
    const words_ = words.map(({ word }) => word).join(' ')
    return `    ${quoted(path)})
      case "$previous" in
${valued.join('\n')}
      esac
      case "$current" in
        -*) COMPREPLY=($(compgen -W ${quoted(names)} -- "$current")) ;;
        *) ${argument?.files ? BASH_FILES : `COMPREPLY=($(compgen -W ${quoted(words_)} -- "$current"))`} ;;
      esac
      ;;`
  })
  return `# bash completion of gatehouse: eval "$(gatehouse completion bash)"
_gatehouse() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local IFS=$' \\n'
  COMPREPLY=()
${loop}  case "$path" in
${cases.join('\n')}
  esac
}
complete -o filenames -F _gatehouse gatehouse
`
}

function zsh(all: Place[]): string {
  const groups = Object.keys(GROUPS)
  const loop = pathLoop(groups)
    .replace('i = 1', 'i = 2')
    .replace('FIRST', 'CURRENT')
    .replace('WORDS[OFFSET]', 'words[i]')
    .replace('local path="" word i', 'local typed="" word i')
    .replaceAll('$path', '$typed')
    .replaceAll('path="', 'typed="')
  const described = (items: [string, string][]) =>
    items.map(([word, summary]) => quoted(`${word.replaceAll(':', '\\:')}:${summary}`)).join(' ')
  const cases = all.map(({ path, words, flags, argument }) => {
    const valued = flags.filter(takesWord).map((flag) => {
      const reply = flag.choices
        ? `compadd -- ${flag.choices.join(' ')}`
        : flag.files
          ? '_files'
          : `_message ${quoted(flag.summary)}`
      return `        ${spelled(flag).join('|')}) ${reply}; return ;;`
    })
    const names = flags.map((flag): [string, string] => [`--${flag.name}`, flag.summary])
    return `    ${quoted(path)})
      case "$words[CURRENT-1]" in
${valued.join('\n')}
      esac
      if [[ "$words[CURRENT]" == -* ]]; then choices=(${described(names)}); _describe flag choices
      ${argument?.files ? 'else _files' : words.length > 0 ? `else choices=(${described(words.map(({ word, summary }) => [word, summary]))}); _describe word choices` : `else _message ${quoted(argument?.summary ?? 'nothing more')}`}
      fi
      ;;`
  })
  return `#compdef gatehouse
# zsh completion of gatehouse: eval "$(gatehouse completion zsh)", after compinit
_gatehouse() {
  local -a choices
${loop}  case "$typed" in
${cases.join('\n')}
  esac
}
compdef _gatehouse gatehouse
`
}

function fish(all: Place[]): string {
  const lines = all.flatMap(({ path, words, flags, argument }) => {
    const here = `-n ${quoted(`__gatehouse_at ${quoted(path)}`)}`
    return [
      ...words.map(({ word, summary }) => `complete -c gatehouse ${here} -a ${quoted(word)} -d ${quoted(summary)}`),
      ...flags.map((flag) => {
        const value = !takesWord(flag)
          ? ''
          : flag.choices
            ? ` -x -a ${quoted(flag.choices.join(' '))}`
            : flag.files
              ? ' -r -F'
              : ' -x'
        return `complete -c gatehouse ${here} -l ${flag.name}${flag.short ? ` -s ${flag.short}` : ''}${value} -d ${quoted(flag.summary)}`
      }),
      ...(argument?.files ? [`complete -c gatehouse ${here} -F`] : []),
    ]
  })
  return `# fish completion of gatehouse: gatehouse completion fish | source
function __gatehouse_at
    set -l typed
    for word in (commandline -opc)[2..]
        string match -q -- '-*' $word; and continue
        if test (count $typed) -eq 0
            set typed $word
        else if test (count $typed) -eq 1; and contains -- $typed ${Object.keys(GROUPS).join(' ')}
            set typed "$typed $word"
            break
        end
    end
    test "$typed" = "$argv"
end
complete -c gatehouse -f
${lines.join('\n')}
`
}
