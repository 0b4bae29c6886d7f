/** A small shop as a manifest, and the calls that plan and apply manifests. */
import type { PlannedChange } from '../../shared/api/manifests.ts'
import { unique, type Client } from './client.ts'
import { stopAfterwards } from './pipelines.ts'

export type Plan = {
  set: string
  hash: string
  changes: PlannedChange[]
  unchanged: number
  warnings?: { path: string; message: string }[]
}
export type Given = { set: string } & Record<string, unknown>
type More = { prune?: boolean; replace?: string[]; hash?: string }
type Resources = 'streams' | 'pipelines' | 'smartmodules'

/** An account's calls. Pipelines that it applies are stopped after the test. */
export function manifestsOf(client: Client) {
  const named = async (resources: Resources) => {
    const { body } = await client.call<Record<string, { id: string; name: string }[]>>(
      'GET',
      `/v1/${resources}?page_size=100&sort=-created_at`,
    )
    return body[resources === 'smartmodules' ? 'modules' : resources]!
  }
  const plan = (manifest: Given, more: More = {}) =>
    client.call<Plan>('POST', '/v1/manifests/plan', { manifest: { dps: 1, ...manifest }, ...more })
  const apply = async (manifest: Given, more: More = {}) => {
    const answer = await client.call<Plan>('POST', '/v1/manifests/apply', { manifest: { dps: 1, ...manifest }, ...more })
    for (const { id } of (await named('pipelines')).filter(({ name }) => name.startsWith(manifest.set))) stopAfterwards(client, id)
    return answer
  }
  const idOf = async (resources: Resources, name: string) => (await named(resources)).find((each) => each.name === name)!.id
  return { plan, apply, named, idOf }
}

/** `stream orders: create`, … */
export const said = (answer: { body: Plan }) =>
  answer.body.changes.map(({ kind, name, action, effect }) => [kind, name.split(' ').at(-1), action, effect])

/** The code of a SmartModule. */
export const above = (least: number) => `import { Record, Path } from 'dps'
const AMOUNT = new Path('amount')
export function filter(record: Record): bool { return record.number(AMOUNT) > ${least} }`

/** Names begin with the set's, because several tests share an account. */
export function shop(set = unique('shop')) {
  const [orders, large, big, flow] = [`${set} orders`, `${set} large`, `${set} big`, `${set} flow`]
  const schema = { id: 'string', amount: 'number' }
  const manifest = {
    set,
    streams: { [orders]: { schema, key: 'id' }, [large]: { schema, key: 'id' } },
    smartmodules: { [big]: { source: { language: 'typescript', code: above(100) } } },
    pipelines: { [flow]: { source: { stream: orders }, steps: [{ module: big }], sink: { stream: large } } },
  }
  return { manifest, set, names: { orders, large, big, flow } }
}
