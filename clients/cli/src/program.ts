/** `dps`: the commands, and how they end. */
import { Command, CommanderError } from 'commander'
import { addDeadLetterCommands } from './commands/dead-letters.ts'
import { addModuleCommands } from './commands/modules.ts'
import { addProfileCommands } from './commands/profiles.ts'
import { addRecordCommands } from './commands/records.ts'
import { addResourceCommands } from './commands/resources.ts'
import { outputOption, profileOption, type Io } from './context.ts'
import { EXIT, outcomeOf, textOf } from './outcome.ts'

const VERSION = '0.1.0'

function openProgram(io: Io): Command {
  const program = new Command('dps')
    .description('the command line of Data Pipeline Service')
    .version(VERSION)
    .addOption(outputOption())
    .addOption(profileOption())
    .showHelpAfterError('(dps --help lists the commands)')
    .exitOverride()
    .configureOutput({ writeOut: io.write, writeErr: (text) => io.note(text.trimEnd()) })
  addProfileCommands(program, io)
  addResourceCommands(program, io)
  addRecordCommands(program, io)
  addModuleCommands(program, io)
  addDeadLetterCommands(program, io)
  // Subcommands end like the program itself: by an exception, not by ending the process.
  const all = (command: Command): void => {
    command.exitOverride().configureOutput({ writeOut: io.write, writeErr: (text) => io.note(text.trimEnd()) })
    command.commands.forEach(all)
  }
  all(program)
  return program
}

/** Runs one command line; resolves with the exit code. */
export async function runProgram(args: readonly string[], io: Io): Promise<number> {
  const program = openProgram(io)
  try {
    await program.parseAsync([...args], { from: 'user' })
    return io.signal.aborted ? EXIT.interrupted : EXIT.done
  } catch (error) {
    if (io.signal.aborted) return EXIT.interrupted
    // Help and versions end with 0; what commander refuses, it has told already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.refused
    const { exit, told } = outcomeOf(error)
    io.note(program.opts<{ output?: string }>().output === 'json' ? JSON.stringify({ error: told }) : textOf(told))
    return exit
  }
}
