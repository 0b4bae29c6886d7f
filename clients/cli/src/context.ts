/** What every command gets: the client, the output, and the names of things as ids. */
import { Command, InvalidArgumentError, Option } from 'commander'
import { createClient, type Client } from '../../typescript/src/index.ts'
import { Misused } from './outcome.ts'
import { createOutput, FORMATS, type Format, type Output } from './output.ts'
import { FETCH_TIMEOUT_MS, patientFetch } from './patient-fetch.ts'
import { currentProfile, type Environment } from './profiles.ts'

export type Io = {
  env: Environment
  stdin: NodeJS.ReadableStream
  /** It is a terminal. */
  isTerminal: boolean
  write(text: string): void
  note(text: string): void
  /** Asks for input, where that is said also when notes are not; else `note` does. */
  prompt?(text: string): void
  /** Aborted by Ctrl-C. */
  signal: AbortSignal
}

export type Context = { io: Io; out: Output; dps: Client; /** Of the service. */ url: string; signal: AbortSignal }
/** A command's work; `command` holds its options. */
export type Work<Args extends unknown[]> = (context: Context, ...args: Args) => Promise<void>

export type GlobalOptions = { output: Format; profile?: string }

export const outputOption = () => new Option('-o, --output <format>', 'how results are printed').choices(FORMATS).default('table')
export const profileOption = () => new Option('--profile <name>', 'which profile to use')

export const outputOf = (io: Io, command: Command): Output =>
  createOutput(command.optsWithGlobals<GlobalOptions>().output, io.write, io.note)

const REQUEST_TIMEOUT_MS = 30_000
/**
 * Of requests that compile a source or run a chain. On a busy machine the service waits for its turn (10 s), for a process (20 s) and for
 * what runs there, up to three times for one request: a compiler (45 s), a look at the module (10 s) and a chain (15 s). In all that is
 * 160 s, after which it says itself that it had too little time.
 */
export const WORKSHOP_TIMEOUT_MS = 180_000

/**
 * Opens the client of the profile at hand. Its requests end with Ctrl-C, unless `isFinished`; with `isPatient` it retries long enough to
 * outlive a restart of the service. Throws Misused where there is no profile.
 */
export function contextOf(
  io: Io,
  command: Command,
  { isFinished = false, isPatient = false, timeoutMs = REQUEST_TIMEOUT_MS } = {},
): Context {
  const { profile } = command.optsWithGlobals<GlobalOptions>()
  const { url, api_key, api_secret } = currentProfile(io.env, profile)
  return {
    io,
    out: outputOf(io, command),
    dps: createClient({
      url,
      apiKey: api_key,
      apiSecret: api_secret,
      timeoutMs,
      // Records are shown and passed on, never counted with.
      keepsNumbersAsWritten: true,
      // A person at a terminal learns of an error soon; long work retries long enough to outlive a restart of the service.
      ...(isPatient ? {} : { retriesMax: 2 }),
      ...(isFinished ? {} : { signal: io.signal }),
      ...(timeoutMs > FETCH_TIMEOUT_MS ? { fetch: patientFetch(io.env) } : {}),
    }),
    url,
    signal: io.signal,
  }
}

/** All items of a list. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

type Named = { id: string; name: string }
/** The lists that things are looked up in by their names. */
const LOOK_UP = {
  stream: async (dps: Client, name: string): Promise<readonly Named[]> => (await dps.streams.list({ name })).streams,
  pipeline: async (dps: Client, name: string): Promise<readonly Named[]> => (await dps.pipelines.list({ name })).pipelines,
  smartmodule: async (dps: Client, name: string): Promise<readonly Named[]> => (await dps.smartmodules.list({ name })).modules,
  secret: async (dps: Client, name: string): Promise<readonly Named[]> => (await dps.secrets.list({ name })).secrets,
} as const
const ID = { stream: /^st_[0-9a-z]{26}$/, pipeline: /^pl_[0-9a-z]{26}$/, smartmodule: /^sm_[0-9a-z]{26}$/, secret: /^sec_[0-9a-z]{26}$/ }

/** The id of what is given by its id or its name. Throws Misused where nothing has it. */
export async function idOf({ dps }: Pick<Context, 'dps'>, kind: keyof typeof LOOK_UP, given: string): Promise<string> {
  if (ID[kind].test(given)) return given
  const found = (await LOOK_UP[kind](dps, given)).find(({ name }) => name === given)
  if (found) return found.id
  throw new Misused(`there is no ${kind} named ${given}`, { code: 'not_found', status: 404 })
}

/** A whole number from `least` on, of an option. */
export const integer =
  (least: number, most = Infinity) =>
  (text: string): number => {
    if (/^\d{1,15}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text)
    throw new InvalidArgumentError(`must be a whole number from ${least}${most === Infinity ? '' : ` to ${most}`}`)
  }
