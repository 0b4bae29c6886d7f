/** The processor's copy of `dps.definitions`: pipelines by id, SmartModule binaries by sha-256, compiled once when a task first needs them. */
import { createHash } from 'node:crypto'
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import { openTail } from '../../../shared/kafka/tail.ts'
import { Envelope, ownerOf, type SecretBox } from '../../../shared/secrets/envelope.ts'
import { PipelineDefinition } from '../../../shared/model/definition.ts'

export type Definitions = {
  /** Pipelines and jobs by run id (`runIdOf`). */
  pipelines: ReadonlyMap<string, PipelineDefinition>
  /** One revision of a pipeline; undefined when it is not kept. */
  revision(pipelineId: string, revision: number): PipelineDefinition | undefined
  /** The value of an account's secret. Throws when there is no such secret, or no key to decrypt it. */
  secret(accountId: string, name: string): string
  /** Throws when the binary has not arrived or does not compile. */
  smartModule(sha256: string): Promise<WebAssembly.Module>
  caughtUp: Promise<void>
  close(): Promise<void>
}

export function openDefinitions(
  cluster: Cluster,
  topic: string,
  secretBox: SecretBox,
  onChange: () => void,
  onError: (error: Error) => void,
): Definitions {
  const pipelines = new Map<string, PipelineDefinition>()
  /** By `pipeline/revision`, unparsed: needed only when a planned range waits for an earlier revision. */
  const revisions = new Map<string, Buffer>()
  const binaries = new Map<string, Buffer>()
  const secrets = new Map<string, Envelope>()
  const compiled = new Map<string, Promise<WebAssembly.Module>>()

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
        if (value === null) secrets.delete(id)
        else if (parsed.success) secrets.set(id, parsed.data)
        else onError(new Error(`the secret ${id} can't be parsed`))
        return
      }
      case 'smartmodule':
        compiled.delete(id)
        if (value === null) binaries.delete(id)
        else if (createHash('sha256').update(value).digest('hex') === id) binaries.set(id, Buffer.from(value))
        else onError(new Error(`the SmartModule ${id} does not match its sha-256`))
        return
      default:
        onError(new Error(`unknown definition key ${key}`))
    }
  }

  const tail = openTail({
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

  return {
    pipelines,
    caughtUp: tail.caughtUp,
    revision(pipelineId, revision) {
      const value = revisions.get(`${pipelineId}/${revision}`)
      return value && PipelineDefinition.safeParse(parseJson(value)).data
    },
    secret(accountId, name) {
      const owner = ownerOf(accountId, name)
      const envelope = secrets.get(owner)
      if (!envelope) throw new Error(`the account has no secret "${name}"`)
      return secretBox.open(owner, envelope)
    },
    async smartModule(sha256) {
      const binary = binaries.get(sha256)
      if (!binary) throw new Error(`the SmartModule ${sha256.slice(0, 12)} has not arrived yet`)
      let module = compiled.get(sha256)
      if (!module) compiled.set(sha256, (module = WebAssembly.compile(new Uint8Array(binary))))
      return module
    },
    close: () => tail.close(),
  }
}

function parseJson(value: Buffer): unknown {
  try {
    return JSON.parse(value.toString('utf8'))
  } catch {
    return undefined
  }
}
