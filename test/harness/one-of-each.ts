/** One of each resource of an account, and a valid request for each operation. */
import type { Contract } from '../../shared/api/contract.ts'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { patiently, unique, type Client } from './client.ts'
import { createPipeline, createStream, write } from './pipelines.ts'

/** The ids of resources, by the first part of their paths. */
export type OneOfEach = Record<string, string>

/** Bodies that are right in themselves, by operation; a getter makes one that needs a new name each time. */
export const BODIES: Record<string, unknown> = {
  checkStreamSchema: { schema: { a: 'string' } },
  changePassword: { password: 'correct horse battery' },
  checkConnector: { side: 'sink', config: {} },
  compareSmartModuleVersions: { stream_id: 'st_none', before: {}, after: { version: '1.0.0' } },
  validateConnector: { config: {} },
  redriveDeadLetters: {},
  replayPipeline: { from: 'earliest', to: 'latest' },
  previewPipeline: { from: 'earliest' },
  resetOffsets: { start: 'earliest' },
  planPipeline: { description: 'x' },
  updatePipeline: { description: 'x' },
  updateMember: { name: 'x' },
  updateSecret: { value: 'x' },
  updateStream: { description: 'x' },
  writeStreamData: { records: [{ a: 'x' }] },
}

const QUERIES: Record<string, string> = { explainRecord: '?partition=0&offset=0' }

/** A SmartModule that passes every record, as a request deploys it. Its binary is no other's. */
export async function moduleBody(name = unique('module')) {
  const source = `import { log, Record } from 'dps'\nexport function filter(record: Record): bool { log('${name}'); return true }`
  const binary = await compileSmartModule(source)
  return { name, wasm_binary: Buffer.from(binary).toString('base64'), config: { input_format: 'json', output_format: 'json' } }
}

/**
 * Makes one of each: two streams, the first with a record, a pipeline that is not started, a key, a member, a secret, a SmartModule, a
 * replay.
 */
export async function makeOneOfEach(client: Client): Promise<OneOfEach> {
  const [source, sink] = [await createStream(client, { a: 'string' }), await createStream(client, { a: 'string' })]
  const post = async <T>(path: string, body: () => unknown): Promise<T> => {
    const answer = await patiently(() => client.call<T>('POST', `/v1/${path}`, body()))
    if (answer.status >= 300) throw new Error(`POST /${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const made = async (path: string, body: () => unknown) => (await post<{ id: string }>(path, body)).id
  const pipelines = await createPipeline(client, source.id, [], sink.id, { autostart: false })
  const secretName = unique('secret')
  const keys = await made('keys', () => ({ name: unique('key'), scopes: ['streams:read'] }))
  const members = await made('members', () => ({ name: 'x', email: `${unique('member')}@example.com`, role: 'viewer' }))
  const secrets = await made('secrets', () => ({ name: secretName, value: 'x' }))
  const module = await moduleBody()
  const smartmodules = await made('smartmodules', () => module)
  await write(client, source.id, [{ a: 'x' }])
  const { job_id: jobs } = await post<{ job_id: string }>(`pipelines/${pipelines}/replay`, () => BODIES.replayPipeline)
  return { streams: source.id, sink: sink.id, pipelines, keys, members, secrets, secretName, smartmodules, jobs }
}

/** The operation's path, with the ids of these resources. */
export function pathIn(resources: OneOfEach, { id: operation, path }: Contract): string {
  const resource = path.split('/')[1]!
  const values: Record<string, string> = {
    id: resource === 'connectors' ? 'conn_stream' : (resources[resource] ?? 'unknown'),
    version: '1.0.0',
    dead_letter_id: 'dl_0_0',
  }
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`${operation}: give ":${name}" a value in pathIn (test/harness/one-of-each.ts)`)
    return value
  })
  return `/v1${filled}${QUERIES[operation] ?? ''}`
}
