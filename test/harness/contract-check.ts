/** Checks every answer that a test gets against its operation's contract, which the OpenAPI document shows to clients. */
import { isDeepStrictEqual } from 'node:util'
import * as account from '../../shared/api/account.ts'
import * as audit from '../../shared/api/audit.ts'
import * as auth from '../../shared/api/auth.ts'
import * as canary from '../../shared/api/canary.ts'
import * as connectors from '../../shared/api/connectors.ts'
import * as deadLetters from '../../shared/api/dead-letters.ts'
import * as ingest from '../../shared/api/ingest.ts'
import * as jobs from '../../shared/api/jobs.ts'
import * as logs from '../../shared/api/logs.ts'
import * as manifests from '../../shared/api/manifests.ts'
import * as members from '../../shared/api/members.ts'
import * as observability from '../../shared/api/observability.ts'
import { refusalsOf } from '../../shared/api/openapi.ts'
import { PREFIXES, type Contract } from '../../shared/api/contract.ts'
import * as events from '../../shared/api/events.ts'
import * as lineage from '../../shared/api/lineage.ts'
import * as overview from '../../shared/api/overview.ts'
import * as pipelines from '../../shared/api/pipelines.ts'
import * as secrets from '../../shared/api/secrets.ts'
import * as smartmodules from '../../shared/api/smartmodules.ts'
import * as streamRecords from '../../shared/api/stream-records.ts'
import * as streams from '../../shared/api/streams.ts'
import * as tail from '../../shared/api/tail.ts'
import * as trials from '../../shared/api/trials.ts'

const isContract = (value: unknown): value is Contract => typeof value === 'object' && value !== null && 'responses' in value

/** The operations of one file of contracts. */
export const contractsOf = (api: object): Contract[] => Object.values(api).flat().filter(isContract)

export const CONTRACTS: readonly Contract[] = [
  account,
  audit,
  auth,
  canary,
  connectors,
  deadLetters,
  ingest,
  jobs,
  logs,
  manifests,
  members,
  observability,
  events,
  lineage,
  overview,
  pipelines,
  secrets,
  smartmodules,
  streamRecords,
  streams,
  tail,
  trials,
].flatMap(contractsOf)

const parametersIn = ({ path }: Contract): number => path.split(':').length

// `/dead-letters/groups` comes before `/dead-letters/:id`.
const matchers = CONTRACTS.toSorted((a, b) => parametersIn(a) - parametersIn(b)).map((contract) => ({
  contract,
  pattern: new RegExp(`^(${PREFIXES.join('|')})${contract.path.replaceAll(/:\w+/g, '[^/]+')}/?$`),
}))

/** Throws when the contract lacks the status, or when a success body differs from the contract, unknown members included. */
export function assertKept(method: string, path: string, status: number, body: unknown): void {
  const [bare = ''] = path.split('?')
  const contract = matchers.find((each) => each.contract.method === method && each.pattern.test(bare))?.contract
  if (!contract) return
  if (status >= 400) {
    if (!refusalsOf(contract).includes(status)) throw new Error(`${method} ${bare} answered ${status}, which its contract does not list`)
    return
  }
  const schema = contract.responses[status]
  if (schema === undefined) throw new Error(`${method} ${bare} answered ${status}, which its contract does not list`)
  if (schema === null) return
  const parsed = schema.safeParse(body)
  if (!parsed.success) throw new Error(`${method} ${bare} answered a body that violates its contract: ${parsed.error.message}`)
  if (isDeepStrictEqual(parsed.data, body)) return
  throw new Error(
    `${method} ${bare} answered members that its contract does not list: ${JSON.stringify(body).slice(0, 2000)} instead of ${JSON.stringify(parsed.data).slice(0, 2000)}`,
  )
}
