/** `dps login` and `dps profile`: where the service is, and with which key. */
import type { Command } from 'commander'
import { createClient } from '../../../typescript/src/index.ts'
import { outputOf, type GlobalOptions, type Io } from '../context.ts'
import { Misused } from '../outcome.ts'
import { readProfiles, saveProfiles } from '../profiles.ts'
import { secretFrom } from '../secret-input.ts'

type LoginOptions = { key?: string; name?: string }

export function addProfileCommands(program: Command, io: Io): void {
  program
    .command('login <url>')
    .description('remember where the service is and a key for it; the secret comes from standard input or DPS_API_SECRET')
    .option('--key <id>', 'the API key (or DPS_API_KEY)')
    .option('--name <name>', 'of the profile (or --profile; without either, default)')
    .action(async (url: string, { key = io.env.DPS_API_KEY, name: given }: LoginOptions, command: Command) => {
      // With --profile another profile than the named one would be overwritten.
      const name = given ?? command.optsWithGlobals<GlobalOptions>().profile ?? 'default'
      if (!key) throw new Misused('--key or DPS_API_KEY is missing')
      const secret = io.env.DPS_API_SECRET || (await secretFrom(io, `the secret of ${key}`, { isOneLine: true })).trim()
      if (secret === '') throw new Misused('the secret is missing: pass it on standard input, or in DPS_API_SECRET')
      const account = await createClient({ url, apiKey: key, apiSecret: secret, retriesMax: 2, signal: io.signal }).account.get()
      const known = readProfiles(io.env)
      const profiles = { ...known.profiles, [name]: { url, api_key: key, api_secret: secret } }
      saveProfiles(io.env, { current: name, profiles })
      outputOf(io, command).done({ profile: name, url, account: account.name }, `logged in to ${url} as ${account.name} (profile ${name})`)
    })

  const profile = program.command('profile').description('the places that dps knows')
  profile
    .command('list')
    .description('list them')
    .action((_options: object, command: Command) => {
      const { current, profiles } = readProfiles(io.env)
      const items = Object.entries(profiles).map(([name, { url, api_key }]) => ({ name, url, api_key, current: name === current }))
      outputOf(io, command).many(items, {
        name: ({ name }) => name,
        url: (each) => each.url,
        key: ({ api_key }) => api_key,
        current: (each) => (each.current ? '*' : ''),
      })
    })
  profile
    .command('use <name>')
    .description('use it from now on')
    .action((name: string, _options: object, command: Command) => {
      const known = readProfiles(io.env)
      if (!known.profiles[name]) throw new Misused(`there is no profile ${name}`)
      saveProfiles(io.env, { ...known, current: name })
      outputOf(io, command).done({ name, current: true }, `the profile ${name} is used from now on`)
    })
  profile
    .command('delete <name>')
    .description('forget it')
    .action((name: string, _options: object, command: Command) => {
      const { current, profiles } = readProfiles(io.env)
      const { [name]: gone, ...rest } = profiles
      if (!gone) throw new Misused(`there is no profile ${name}`)
      saveProfiles(io.env, { profiles: rest, ...(current === undefined || current === name ? {} : { current }) })
      outputOf(io, command).done({ name, deleted: true }, `the profile ${name} is forgotten`)
    })
}
