/** Secrets, set from standard input. */
import type { Command } from 'commander'
import { contextOf, type Io } from '../context.ts'
import { Misused } from '../outcome.ts'
import { secretFrom } from '../secret-input.ts'

type SecretOptions = { description?: string; connectors?: string[]; hosts?: string[] }

export function addSecretCommands(program: Command, io: Io): void {
  const secret = program.command('secret').description('values that connectors use and no answer shows')
  secret
    .command('set <name>')
    .description('create or replace a secret by what comes on standard input')
    .option('--description <text>', 'what it is for')
    .option('--connectors <names...>', 'of a new one: the only connectors that may use it')
    .option('--hosts <hosts...>', 'of a new one: the only hosts that a config with it may name, *.example.com for all below a domain')
    .action(async (name: string, { description, connectors, hosts }: SecretOptions, command: Command) => {
      const context = contextOf(io, command)
      const value = (await secretFrom(io, `the value of ${name}`)).replace(/\r?\n$/, '')
      if (value === '') throw new Misused('the value is missing: pass it on standard input')
      const known = (await context.dps.secrets.list({ name })).secrets.find((each) => each.name === name)
      const change = { value, ...(description === undefined ? {} : { description }) }
      if (known && (connectors ?? hosts))
        throw new Misused(`${name} exists, and its connectors and hosts stay: delete it, and set it again`)
      const limits = { ...(connectors ? { connectors } : {}), ...(hosts ? { hosts } : {}) }
      const { id } = known
        ? await context.dps.secrets.update(known.id, change)
        : await context.dps.secrets.create({ name, ...change, ...limits })
      context.out.done({ id, name }, `the secret ${name} is set`)
    })
}
