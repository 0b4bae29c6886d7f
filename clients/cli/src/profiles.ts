/** Where the service is, and with which key: from the environment, or a profile in a file that its owner alone can read. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { Misused } from './outcome.ts'
import { whyUnreadable } from './readable-files.ts'

const Profile = z.object({ url: z.string(), api_key: z.string(), api_secret: z.string() })
export type Profile = z.infer<typeof Profile>
const Profiles = z.object({ current: z.string().optional(), profiles: z.record(z.string(), Profile) })
export type Profiles = z.infer<typeof Profiles>

export type Environment = Record<string, string | undefined>

const fileOf = (env: Environment): string => join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'dps', 'profiles.json')

/** The profiles; none where there is no file. Throws Misused for a file that is not one. */
export function readProfiles(env: Environment): Profiles {
  let text: string
  try {
    text = readFileSync(fileOf(env), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { profiles: {} }
    throw new Misused(`${fileOf(env)} can't be read: ${whyUnreadable(error)}`)
  }
  try {
    return Profiles.parse(JSON.parse(text))
  } catch {
    throw new Misused(`${fileOf(env)} is not a file of profiles: remove it and run \`dps login\``)
  }
}

export function saveProfiles(env: Environment, profiles: Profiles): void {
  const file = fileOf(env)
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  // A new file each time: it is never readable by others, and never half written.
  const next = `${file}.${process.pid}`
  writeFileSync(next, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  renameSync(next, file)
}

/** The profile to use: the environment's variables, else `--profile`, DPS_PROFILE or the current one. Throws Misused if there is none. */
export function currentProfile(env: Environment, asked: string | undefined): Profile {
  const { DPS_URL: url, DPS_API_KEY: api_key, DPS_API_SECRET: api_secret } = env
  const set = [url, api_key, api_secret].filter(Boolean).length
  if (url && api_key && api_secret && asked === undefined) return { url, api_key, api_secret }
  if (set > 0 && set < 3 && asked === undefined) throw new Misused('of DPS_URL, DPS_API_KEY and DPS_API_SECRET all are needed, or none')
  const { current, profiles } = readProfiles(env)
  const name = asked ?? (env.DPS_PROFILE || current)
  if (name === undefined) throw new Misused('there is no profile: run `dps login`, or set DPS_URL, DPS_API_KEY and DPS_API_SECRET')
  const found = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (!found) throw new Misused(`there is no profile ${name}: \`dps profile list\` shows those there are`)
  return found
}
