/**
 * `dps completion`: a shell script that completes commands, subcommands, options and kinds of things. It doesn't ask the service for names.
 */
import { Argument, type Command } from 'commander'
import type { Io } from '../context.ts'

type Words = { path: string; words: string[] }

/** What may follow each command, by its path (`''` is the program itself). */
function wordsOf(command: Command, path = ''): Words[] {
  const own = [
    ...command.commands.map((each) => each.name()),
    ...command.options.flatMap(({ long }) => long ?? []),
    ...command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
  ]
  return [{ path, words: own }, ...command.commands.flatMap((each) => wordsOf(each, path === '' ? each.name() : `${path} ${each.name()}`))]
}

/** The options that the next word is the value of. */
const valued = (command: Command): string[] => [
  ...command.options.filter(({ required }) => required).flatMap(({ short, long }) => [short, long].filter((flag) => flag != null)),
  ...command.commands.flatMap(valued),
]

const cases = (all: Words[], line: (each: Words) => string): string => all.map(line).join('\n')

/** The path is made of the words before the cursor that are neither options nor the values of `flags`. */
const SCRIPTS: Record<string, (all: Words[], flags: string) => string> = {
  bash: (all, flags) => `_dps() {
  local path="" word before=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* || " ${flags} " == *" $before "* ]] || path="\${path:+$path }$word"
    before="\${word:-none}"
  done
  while :; do
    case "$path" in
${cases(all, ({ path, words }) => `      "${path}") COMPREPLY=($(compgen -W "${words.join(' ')}" -- "\${COMP_WORDS[COMP_CWORD]}")); return ;;`)}
    esac
    [[ $path == *" "* ]] && path="\${path% *}" || path=""
  done
}
complete -o default -F _dps dps
`,
  zsh: (all, flags) => `#compdef dps
_dps() {
  local at="" word before=""
  for word in \${words[2,CURRENT-1]}; do
    [[ $word == -* || " ${flags} " == *" $before "* ]] || at="\${at:+$at }$word"
    before="\${word:-none}"
  done
  while :; do
    case "$at" in
${cases(all, ({ path, words }) => `      "${path}") compadd -- ${words.join(' ')}; _files; return ;;`)}
    esac
    [[ $at == *" "* ]] && at="\${at% *}" || at=""
  done
}
compdef _dps dps
`,
  fish: (all) =>
    all
      .flatMap(({ path, words }) =>
        words.map((word) =>
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
    .action((shell: string) => io.write(`${SCRIPTS[shell]!(wordsOf(program), [...new Set(valued(program))].join(' ')).trimEnd()}\n`))
}
