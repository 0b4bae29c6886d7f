/** A fetch for answers that take longer than Node's own would wait for them. */
import type { Environment } from './profiles.ts'

/** After so long without an answer, or without more of it, Node's fetch gives up by itself. */
export const FETCH_TIMEOUT_MS = 300_000

type Fetch = typeof globalThis.fetch

/** A fetch that only its signal ends. */
export function patientFetch(env: Environment): Fetch {
  /** Loaded with the first request, because it takes longer than all else that a command loads. */
  async function load(): Promise<Fetch> {
    const { Agent, EnvHttpProxyAgent, fetch } = await import('undici')
    const limits = { headersTimeout: 0, bodyTimeout: 0 }
    // Node's own fetch goes by the proxy of the environment under the same condition.
    const dispatcher = env.NODE_USE_ENV_PROXY === '1' ? new EnvHttpProxyAgent(limits) : new Agent(limits)
    // Node's types of fetch are those of an earlier undici.
    const send = fetch as unknown as (target: Parameters<Fetch>[0], init: object) => Promise<Response>
    return (target, init) => send(target, { ...init, dispatcher })
  }
  let loaded: Promise<Fetch> | undefined
  return async (target, init) => (await (loaded ??= load()))(target, init)
}
