/** Commands of `dps` in documents: each one that is written down exists, with its arguments and options. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { openProgram } from '../../clients/cli/src/program.ts'
import { CLI_COMMANDS } from '../../docs/site/cli-commands.ts'
import { OPERATIONS } from '../../services/control-plane/routes/index.ts'

const program = openProgram({
  env: {},
  stdin: new PassThrough(),
  isTerminal: false,
  write: () => {},
  note: () => {},
  signal: new AbortController().signal,
})

/** What is wrong with the words behind `dps`; undefined when nothing is. */
function faultOf(words: readonly string[]): string | undefined {
  let command: Command = program
  let at = 0
  for (let next; (next = command.commands.find((each) => each.name() === words[at])); at++) command = next
  if (command === program) return words[0] === undefined || words[0].startsWith('-') ? undefined : `there is no command ${words[0]}`
  let given = 0
  for (; at < words.length; at++) {
    const word = words[at]!
    if (!word.startsWith('-')) {
      given++
      continue
    }
    const [flag, value] = word.split('=', 2)
    const option = [...command.options, ...program.options].find(({ short, long }) => short === flag || long === flag)
    if (!option) return `${command.name()} has no option ${flag}`
    if ((option.required || option.optional) && value === undefined) at++
  }
  const least = command.registeredArguments.filter(({ required }) => required).length
  const most = command.registeredArguments.some(({ variadic }) => variadic) ? Infinity : command.registeredArguments.length
  if (command.commands.length > 0) return `${command.name()} needs a subcommand`
  return given < least || given > most ? `${command.name()} takes ${least} to ${most} arguments, not ${given}` : undefined
}

/** The words behind each `dps` of a shell's line; texts in quotes are one word. */
function commandsIn(line: string): string[][] {
  const bare = line.replace(/(?:^|\s)#.*$/, '').replaceAll(/'[^']*'|"[^"]*"/g, 'x')
  return bare
    .split(/\||&&|;|\$\(/)
    .map((part) => /^\s*(?:[A-Z_]+=\S+\s+)*dps\s+([^<>)]*)/.exec(part)?.[1])
    .filter((found) => found !== undefined)
    .map((found) =>
      found
        .trim()
        .split(/\s+/)
        .filter((word) => word !== '' && word !== '…'),
    )
}

describe('a command of the reference', () => {
  const ids = new Set(OPERATIONS.map(({ contract }) => contract.id))
  it.each(Object.entries(CLI_COMMANDS))('is one of dps: %s', (id, command) => {
    expect(ids).toContain(id)
    const commands = commandsIn(command)
    expect(commands.length).toBe(1)
    expect(faultOf(commands[0]!)).toBeUndefined()
  })
})

describe('a command of dps', () => {
  /** These ask for several operations, or for none. */
  const OF_NONE = ['login', 'profile list', 'profile use', 'profile delete', 'init', 'test', 'dev', 'dlq try', 'wait', 'completion', 'mcp']
  const leaves = (command: Command, path: readonly string[] = []): string[] =>
    command.commands.flatMap((each) => {
      const own = [...path, each.name()]
      return each.commands.length > 0 ? leaves(each, own) : [own.join(' ')]
    })
  it('is in the reference, at the operation that it is for', () => {
    const named = Object.values(CLI_COMMANDS)
      .flatMap(commandsIn)
      .map((words) => words.join(' '))
    const missing = leaves(program).filter((each) => !OF_NONE.includes(each) && !named.some((line) => `${line} `.startsWith(`${each} `)))
    expect(missing).toEqual([])
  })
})

describe('a command in a document', () => {
  const root = join(import.meta.dirname, '..', '..')
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], { cwd: root, encoding: 'utf8' })
  it('is one of dps', () => {
    const wrong: string[] = []
    let found = 0
    for (const file of files.split('\n').filter((each) => each !== '' && each !== 'CHANGELOG.md')) {
      const blocks = [...readFileSync(join(root, file), 'utf8').matchAll(/```(?:sh|bash|console)?\n([\s\S]*?)```/g)]
      for (const [, block] of blocks)
        for (const words of block!.split('\n').flatMap(commandsIn)) {
          found++
          const fault = faultOf(words)
          if (fault !== undefined) wrong.push(`${file}: dps ${words.join(' ')}: ${fault}`)
        }
    }
    expect(wrong).toEqual([])
    expect(found).toBeGreaterThan(10)
  })
})
