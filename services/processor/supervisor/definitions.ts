/** The processor's copy of `dps.definitions`: pipelines by id, secrets by account, SmartModule binaries by sha-256. It compiles nothing. */
import { createHash } from 'node:crypto'
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import { followTopic } from '../../../shared/kafka/follow.ts'
import { Envelope, ownerOf, type SecretBox } from '../../../shared/secrets/envelope.ts'
import { AccountState, PipelineDefinition } from '../../../shared/model/definition.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { parseJson } from '../../../shared/kafka/parse-json.ts'
import type { Secret } from '../channel/protocol.ts'

export type DefinitionCopy = {
  /** Pipelines and jobs by run id (`runIdOf`). */
  pipelines: ReadonlyMap<string, PipelineDefinition>
  /** One revision of a pipeline as JSON; undefined when it is not kept. */
  revision(pipelineId: string, revision: number): string | undefined
  /** What is known of the account; undefined for one that was not published yet. */
  account(id: string): AccountState | undefined
  /** The accounts' secrets by owner, decrypted where there is a key. */
  secretsOf(accounts: ReadonlySet<string>): Record<string, Secret>
  /** Grows whenever a secret of one of the accounts was changed. */
  secretsVersion(accounts: ReadonlySet<string>): number
  /** A binary that a kept revision of one of the accounts uses; undefined where there is none. */
  smartModule(accounts: ReadonlySet<string>, sha256: string): Buffer | undefined
  caughtUp: Promise<void>
  close(): Promise<void>
}

export function openDefinitions(
  cluster: Cluster,
  topic: string,
  secretBox: SecretBox,
  onChange: () => void,
  onError: (error: Error) => void,
): DefinitionCopy {
  const pipelines = new Map<string, PipelineDefinition>()
  /** By `pipeline/revision`, unparsed: needed only when a planned range waits for an earlier revision. */
  const revisions = new Map<string, Buffer>()
  const binaries = new Map<string, Buffer>()
  const secrets = new Map<string, Envelope>()
  const accounts = new Map<string, AccountState>()
  /** By account, the number of its last change of a secret. */
  const secretsChanged = new Map<string, number>()
  let secretChanges = 0

  function apply(key: string, value: Buffer | null): void {
    const slash = key.indexOf('/')
    const id = key.slice(slash + 1)
    switch (key.slice(0, slash)) {
      case 'pipeline':
      case 'job': {
        if (value === null) {
          pipelines.delete(id)
          return
        }
        const parsed = PipelineDefinition.safeParse(parseJson(value))
        if (!parsed.success) return onError(new Error(`the definition of ${id} can't be parsed: ${parsed.error.message}`))
        const known = pipelines.get(id)
        if (!known || parsed.data.revision >= known.revision) pipelines.set(id, parsed.data)
        return
      }
      case 'revision':
        if (value === null) revisions.delete(id)
        else revisions.set(id, Buffer.from(value))
        return
      case 'secret': {
        const parsed = Envelope.safeParse(value && parseJson(value))
        secretsChanged.set(id.slice(0, id.indexOf('/')), ++secretChanges)
        if (value === null) secrets.delete(id)
        else if (parsed.success) secrets.set(id, parsed.data)
        else onError(new Error(`the secret ${id} can't be parsed`))
        return
      }
      case 'account': {
        const parsed = AccountState.safeParse(value && parseJson(value))
        if (value === null) accounts.delete(id)
        else if (parsed.success) accounts.set(id, parsed.data)
        else onError(new Error(`the account ${id} can't be parsed`))
        return
      }
      case 'smartmodule':
        if (value === null) binaries.delete(id)
        else if (createHash('sha256').update(value).digest('hex') === id) binaries.set(id, Buffer.from(value))
        else onError(new Error(`the SmartModule ${id} does not match its sha-256`))
        return
      default:
        onError(new Error(`unknown definition key ${key}`))
    }
  }

  const following = followTopic({
    cluster,
    topic,
    purpose: 'definitions',
    from: 0n,
    onRecords(records) {
      for (const { key, value } of records) apply(key, value)
      onChange()
    },
    onError,
  })

  /** Whether a current or an earlier revision of one of the accounts' pipelines has a step with this binary. */
  function isUsedBy(accounts: ReadonlySet<string>, sha256: string): boolean {
    const own = [...pipelines.values()].filter(({ account_id }) => accounts.has(account_id))
    if (own.some(({ steps }) => steps.some((step) => step.sha256 === sha256 || step.canary?.sha256 === sha256))) return true
    const ids = new Set(own.map(({ pipeline_id }) => pipeline_id))
    return [...revisions].some(([key, text]) => ids.has(key.slice(0, key.indexOf('/'))) && text.includes(sha256))
  }

  return {
    pipelines,
    caughtUp: following.caughtUp,
    revision: (pipelineId, revision) => revisions.get(`${pipelineId}/${revision}`)?.toString('utf8'),
    account: (id) => accounts.get(id),
    secretsOf(of) {
      const found: Record<string, Secret> = {}
      for (const [owner, envelope] of secrets) {
        if (![...of].some((account) => owner.startsWith(ownerOf(account, '')))) continue
        try {
          found[owner] = { value: secretBox.open(owner, envelope) }
        } catch (error) {
          found[owner] = { error: reasonOf(error) }
        }
      }
      return found
    },
    secretsVersion: (of) => Math.max(0, ...[...of].map((account) => secretsChanged.get(account) ?? 0)),
    smartModule: (accounts, sha256) => (isUsedBy(accounts, sha256) ? binaries.get(sha256) : undefined),
    close: () => following.close(),
  }
}
