/** `dps`: the commands, and how they end. */
import { Command, CommanderError } from 'commander'
import { addCompletionCommand } from './commands/completion.ts'
import { addDeadLetterCommands } from './commands/dead-letters.ts'
import { addDevCommand } from './commands/dev.ts'
import { addInitCommand } from './commands/init.ts'
import { addJobCommands } from './commands/jobs.ts'
import { addManifestCommands } from './commands/manifests.ts'
import { addMcpCommand } from './commands/mcp.ts'
import { addModuleCommands } from './commands/modules.ts'
import { addProfileCommands } from './commands/profiles.ts'
import { addRecordCommands } from './commands/records.ts'
import { addResourceCommands } from './commands/resources.ts'
import { addSecretCommands } from './commands/secrets.ts'
import { outputOption, profileOption, type Io } from './context.ts'
import { toYaml } from './output.ts'
import { EXIT, Interrupted, Misused, outcomeOf, textOf } from './outcome.ts'

const VERSION = '0.1.0'

/** All commands, whose input and output are `io`. */
export function openProgram(io: Io): Command {
  const program = new Command('dps')
    .description('the command line of Data Pipeline Service')
    .version(VERSION)
    .addOption(outputOption())
    .addOption(profileOption())
  addProfileCommands(program, io)
  addResourceCommands(program, io)
  addRecordCommands(program, io)
  addInitCommand(program, io)
  addModuleCommands(program, io)
  addSecretCommands(program, io)
  addDevCommand(program, io)
  addDeadLetterCommands(program, io)
  addJobCommands(program, io)
  addManifestCommands(program, io)
  addMcpCommand(program, io)
  addCompletionCommand(program, io)
  // Subcommands end like the program itself: by an exception, not by ending the process.
  const all = (command: Command): void => {
    // Errors are told below, in the form that was asked for.
    command.exitOverride().configureOutput({ writeOut: io.write, writeErr: () => {} })
    command.commands.forEach(all)
  }
  all(program)
  return program
}

/** What commander says, without its own prefix; nothing said is a command that was left out. */
const wrongUse = ({ message, code }: CommanderError): string =>
  code === 'commander.help' ? 'a command is missing (dps --help lists them)' : message.replace(/^error: /, '')

/** The first word that is no option or its value, if it is no command. */
function unknownIn(program: Command, args: readonly string[]): string | undefined {
  const valued = program.options.filter(({ required }) => required).flatMap(({ short, long }) => [short, long])
  const word = args.find((each, index) => !each.startsWith('-') && (index === 0 || !valued.includes(args[index - 1])))
  return word === undefined || word === 'help' || program.commands.some((each) => each.name() === word) ? undefined : word
}

/** Runs one command line; resolves with the exit code. */
export async function runProgram(args: readonly string[], io: Io): Promise<number> {
  // Before the options are known, because they may be what is wrong.
  const format = /(?:^|\n)(?:-o|--output)\n?=?(json|ndjson|yaml)(?:\n|$)/.exec(args.join('\n'))?.[1]
  // For programs, an error is all that is said beside the result.
  const program = openProgram(format ? { ...io, note: () => {}, prompt: io.note } : io)
  try {
    await program.parseAsync([...args], { from: 'user' })
    return io.signal.aborted ? EXIT.interrupted : EXIT.done
  } catch (error) {
    if (io.signal.aborted || error instanceof Interrupted) return EXIT.interrupted
    const isHelp = error instanceof CommanderError && error.exitCode === 0
    const unknown = isHelp ? unknownIn(program, args) : undefined
    // Help and versions end with 0; commander gives the program's for a command that it does not know.
    if (isHelp && unknown === undefined) return EXIT.done
    const wrong = unknown === undefined ? error : new Misused(`unknown command '${unknown}' (dps --help lists them)`)
    const { exit, told } = outcomeOf(wrong instanceof CommanderError ? new Misused(wrongUse(wrong)) : wrong)
    io.note(format === 'yaml' ? toYaml({ error: told }).trimEnd() : format ? JSON.stringify({ error: told }) : textOf(told))
    return exit
  }
}
