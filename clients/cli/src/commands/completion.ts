/**
 * `dps completion`: a shell script that completes commands, subcommands, options and kinds of things. It doesn't ask the service for names.
 */
import { Argument, type Command } from 'commander'
import type { Io } from '../context.ts'

/** What may follow a command: `words` right behind it, `options` anywhere. */
type Follows = { path: string; words: string[]; options: string[] }

/** What may follow each command, by its path (`''` is the program itself). */
function followsOf(command: Command, path = ''): Follows[] {
  const words = [
    ...command.commands.map((each) => each.name()),
    ...command.registeredArguments.slice(0, 1).flatMap(({ argChoices }) => argChoices ?? []),
  ]
  const options = command.options.flatMap(({ long }) => long ?? [])
  const own = { path, words, options }
  return [own, ...command.commands.flatMap((each) => followsOf(each, path === '' ? each.name() : `${path} ${each.name()}`))]
}

/** The options that the next word is the value of, with the values that it may have where they are few. */
function valuesOf(command: Command): Map<string, string[]> {
  const found = new Map<string, string[]>()
  const add = (each: Command): void => {
    for (const { required, short, long, argChoices } of each.options)
      for (const flag of required ? [short, long] : [])
        if (flag != null) found.set(flag, [...(found.get(flag) ?? []), ...(argChoices ?? [])])
    each.commands.forEach(add)
  }
  add(command)
  return found
}

/** The lines of a `case` for option values: nothing is offered where any text may follow. */
const valueCases = (values: ReadonlyMap<string, string[]>, line: (words: string) => string): string =>
  [...values].map(([flag, words]) => `    ${flag}) ${line([...new Set(words)].join(' '))} ;;`).join('\n')

/** The path is made of the words before the cursor that are neither options nor their values; `rest` is what follows the command. */
const SCRIPTS: Record<string, (all: Follows[], values: ReadonlyMap<string, string[]>) => string> = {
  bash: (all, values) => `_dps() {
  local path="" rest="" word before="" words options
  local current="\${COMP_WORDS[COMP_CWORD]}"
  case "\${COMP_WORDS[COMP_CWORD-1]}" in
${valueCases(values, (words) => `COMPREPLY=(${words === '' ? '' : `$(compgen -W "${words}" -- "$current")`}); return`)}
  esac
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* || " ${[...values.keys()].join(' ')} " == *" $before "* ]] || path="\${path:+$path }$word"
    before="\${word:-none}"
  done
  while :; do
    case "$path" in
${all.map(({ path, words, options }) => `      "${path}") words="${words.join(' ')}"; options="${options.join(' ')}"; break ;;`).join('\n')}
    esac
    rest=1
    [[ $path == *" "* ]] && path="\${path% *}" || path=""
  done
  [[ -n $rest ]] && words=""
  COMPREPLY=($(compgen -W "$words $options" -- "$current"))
}
complete -o default -F _dps dps
`,
  zsh: (all, values) => `#compdef dps
_dps() {
  local at="" rest="" word before=""
  local -a given options
  case "\${words[CURRENT-1]}" in
${valueCases(values, (words) => (words === '' ? '_files; return' : `compadd -- ${words}; return`))}
  esac
  for word in \${words[2,CURRENT-1]}; do
    [[ $word == -* || " ${[...values.keys()].join(' ')} " == *" $before "* ]] || at="\${at:+$at }$word"
    before="\${word:-none}"
  done
  while :; do
    case "$at" in
${all.map(({ path, words, options }) => `      "${path}") given=(${words.join(' ')}); options=(${options.join(' ')}); break ;;`).join('\n')}
    esac
    rest=1
    [[ $at == *" "* ]] && at="\${at% *}" || at=""
  done
  [[ -n $rest ]] && given=()
  compadd -- $given $options
  _files
}
compdef _dps dps
`,
  fish: (all) =>
    all
      .flatMap(({ path, words, options }) =>
        [...words, ...options].map((word) =>
          path === ''
            ? `complete -c dps -n __fish_use_subcommand -a '${word}'`
            : `complete -c dps -n "__fish_seen_subcommand_from ${path.split(' ').at(-1)}" -a '${word}'`,
        ),
      )
      .join('\n'),
}

export function addCompletionCommand(program: Command, io: Io): void {
  program
    .command('completion')
    .description('print a script that completes dps in a shell: source <(dps completion bash)')
    .addArgument(new Argument('<shell>').choices(Object.keys(SCRIPTS)))
    .action((shell: string) => io.write(`${SCRIPTS[shell]!(followsOf(program), valuesOf(program)).trimEnd()}\n`))
}
