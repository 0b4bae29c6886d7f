/** What a runner knows of definitions: its accounts' secrets as they were sent, and SmartModules and earlier revisions on demand. */
import type { OperatorDefaults } from '../../../shared/connectors/connector.ts'
import { PipelineDefinition } from '../../../shared/model/definition.ts'
import { ownerOf } from '../../../shared/secrets/envelope.ts'
import type { FromRunner, Secret, ToRunner } from '../channel/protocol.ts'

export type RunnerDefinitions = {
  /** One revision of a pipeline; undefined when it is not kept. */
  revision(pipelineId: string, revision: number): Promise<PipelineDefinition | undefined>
  /** The value of an account's secret. Throws when there is no such secret, or no key to decrypt it. */
  secret(accountId: string, name: string): string
  /** The operator's defaults as the account gets them. */
  defaultsOf(accountId: string): OperatorDefaults
  /** Throws when the binary has not arrived or does not compile. */
  smartModule(sha256: string): Promise<WebAssembly.Module>
}

type Need = { type: 'need'; sha256: string } | { type: 'need_revision'; pipeline_id: string; revision: number }
/** A binary, or the JSON of a definition. */
type Answer = Buffer<ArrayBuffer> | string | null

export function createDefinitions(send: (value: FromRunner) => void) {
  let secrets: Record<string, Secret> = {}
  let defaults: Record<string, OperatorDefaults> = {}
  const waiting = new Map<number, (value: Answer) => void>()
  /** Compiled once for all tasks, and dropped with the last chain that uses it. */
  const compiled = new Map<string, WeakRef<WebAssembly.Module>>()
  /** Those that were asked for and have not come: tasks that start together wait for the same one. */
  const compiling = new Map<string, Promise<WebAssembly.Module>>()
  /** The bytes that came last, until what they answer is known. */
  let arrived: Buffer<ArrayBuffer> | null = null
  let nextId = 1
  let last: Promise<unknown> = Promise.resolve()

  /** One thing at a time: an answer may have megabytes, and many would wait in the pipe. */
  function ask(need: Need): Promise<Answer> {
    const answered = last.then(() => {
      const id = nextId++
      return new Promise<Answer>((resolve) => {
        waiting.set(id, resolve)
        send({ ...need, id })
      })
    })
    last = answered
    return answered
  }

  async function compile(sha256: string): Promise<WebAssembly.Module> {
    const binary = await ask({ type: 'need', sha256 })
    if (!(binary instanceof Buffer))
      throw new Error(`the SmartModule ${sha256.slice(0, 12)} is not among what the supervisor has for this account yet`)
    const module = await WebAssembly.compile(binary)
    compiled.set(sha256, new WeakRef(module))
    return module
  }

  const definitions: RunnerDefinitions = {
    async revision(pipelineId, revision) {
      const found = await ask({ type: 'need_revision', pipeline_id: pipelineId, revision })
      return typeof found === 'string' ? PipelineDefinition.safeParse(JSON.parse(found)).data : undefined
    },
    secret(accountId, name) {
      const found = secrets[ownerOf(accountId, name)]
      if (!found) throw new Error(`the account has no secret "${name}"`)
      if ('error' in found) throw new Error(found.error)
      return found.value
    },
    defaultsOf(accountId) {
      const found = defaults[accountId]
      if (!found) throw new Error(`the runner does not serve the account ${accountId}`)
      return found
    },
    async smartModule(sha256) {
      const known = compiled.get(sha256)?.deref()
      if (known) return known
      let made = compiling.get(sha256)
      if (!made) {
        made = compile(sha256).finally(() => compiling.delete(sha256))
        compiling.set(sha256, made)
      }
      return made
    },
  }
  return {
    definitions,
    onAccounts(given: Extract<ToRunner, { type: 'accounts' }>): void {
      ;({ secrets, defaults } = given)
    },
    onBytes(bytes: Buffer<ArrayBuffer>): void {
      arrived = bytes
    },
    onAnswer(answer: Extract<ToRunner, { type: 'answer' | 'binary' }>): void {
      waiting.get(answer.id)?.(answer.type === 'answer' ? answer.value : arrived)
      waiting.delete(answer.id)
      arrived = null
    },
  }
}
