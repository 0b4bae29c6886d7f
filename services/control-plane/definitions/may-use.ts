/** Which streams and secrets a request may put into a pipeline: what its caller may do, and what a secret is for. */
import { findConnector } from '../../../shared/connectors/catalogue.ts'
import { secretsIn } from '../../../shared/connectors/secret.ts'
import { streamConnector } from '../../../shared/connectors/stream/connector.ts'
import type { Scope } from '../../../shared/model/limits.ts'
import { lacksScope, type Detail } from '../service-error.ts'
import type { Queryable } from '../store/database.ts'
import { findSecretByName, type SecretRow } from '../store/secrets.ts'
import type { Caller } from '../deps.ts'

type Endpoint = { connector_id: string; config: unknown }

/** Throws 403 naming the first scope that the caller lacks: for streams that are read and written, and for secrets. */
export function assertMayUse(caller: Pick<Caller, 'scopes' | 'session'>, endpoints: Partial<Record<'source' | 'sink', Endpoint>>): void {
  const { source, sink } = endpoints
  const isStream = (endpoint: Endpoint | undefined) => endpoint && findConnector(endpoint.connector_id)?.id === streamConnector.id
  const needed: [scope: Scope, why: string][] = []
  if (isStream(source)) needed.push(['streams:read', 'to read a stream'])
  if (isStream(sink)) needed.push(['streams:write', 'to write into a stream'])
  if (secretsIn([source?.config, sink?.config]).length > 0) needed.push(['secrets:use', 'to use a secret'])
  const missing = needed.find(([scope]) => !caller.scopes.includes(scope))
  if (missing) throw lacksScope(caller, ...missing)
}

/** `host:port` as connectors take it. */
const HOST_AND_PORT = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+):\d{1,5}$/i

/** Members that never hold an address: headers of a request, and names of streams and topics, which may contain a colon (`orders:2026`). */
const NO_ADDRESSES: ReadonlySet<string> = new Set(['headers', 'stream', 'topic'])

/** The hosts that a config names, in URLs and as `host:port`; those inside of secrets are not known. */
function hostsIn(value: unknown): string[] {
  if (typeof value === 'string') {
    const host = (URL.canParse(value) && new URL(value).hostname) || HOST_AND_PORT.exec(value)?.[1]
    return host ? [host.toLowerCase()] : []
  }
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => (NO_ADDRESSES.has(name) ? [] : hostsIn(member)))
}

const isHost = (host: string, allowed: string): boolean =>
  allowed.startsWith('*.') ? host.endsWith(allowed.slice(1).toLowerCase()) : host === allowed.toLowerCase()

/** Why the secret can't be used in this config, or that there is none; undefined when it can. */
export function secretFault(secret: SecretRow | undefined, { connector_id, config }: Endpoint): string | undefined {
  if (!secret) return 'is not the name of a secret of this account'
  const { allowed_connectors, allowed_hosts } = secret
  const connector = findConnector(connector_id)
  if (allowed_connectors && !allowed_connectors.some((each) => each === connector?.id || each === connector?.name))
    return `is a secret for ${allowed_connectors.join(', ')} only`
  const beyond = allowed_hosts && hostsIn(config).find((host) => !allowed_hosts.some((allowed) => isHost(host, allowed)))
  return allowed_hosts && beyond !== undefined
    ? `is a secret for ${allowed_hosts.join(', ')} only, and the config names ${beyond}`
    : undefined
}

/** What is wrong with the secrets that the config names, with pointers into it. */
export async function secretFaults(db: Queryable, accountId: string, endpoint: Endpoint): Promise<Detail[]> {
  const faults: Detail[] = []
  for (const { name, path } of secretsIn(endpoint.config)) {
    const fault = secretFault(await findSecretByName(db, accountId, name), endpoint)
    if (fault !== undefined) faults.push({ path: `${path}/$secret`, message: fault })
  }
  return faults
}
