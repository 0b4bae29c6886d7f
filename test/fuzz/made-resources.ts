/** What the requests have made, for later requests to name: of each kind the newest, beyond which the oldest are deleted. */
import type { FuzzRequest } from './requests.ts'
import type { Names } from './values.ts'

/** Few, so that requests meet one another at the same resource. */
const KEPT_MAX = 8
const COLLECTION = /\/(streams|pipelines|smartmodules|secrets|members|keys)$/

type Body = Record<string, unknown>
type Kept = {
  /** Takes the ids out of the answer to a request that has succeeded. */
  take(request: FuzzRequest, status: number, body: Body): Promise<void>
}

/** `remove` deletes what is at a path, and returns the status of the answer; undefined where there is none. */
export function createKept(names: Names, remove: (path: string) => Promise<number | undefined>): Kept {
  /** By kind, paths of what is to be deleted, the oldest first. */
  const made = new Map<string, string[]>()

  function add(kind: string, id: unknown): void {
    if (typeof id !== 'string') return
    const others = (names.ids.get(kind) ?? []).filter((each) => each !== id)
    // What is deleted is forgotten then; room for it, and for the built-in ones.
    names.ids.set(kind, [...others, id].slice(-2 * KEPT_MAX))
  }

  function forget(kind: string, id: string): void {
    for (const each of [kind, 'pipeline', 'dead-letters']) {
      const others = (names.ids.get(each) ?? []).filter((other) => other !== id)
      names.ids.set(each, others)
    }
  }

  async function make(kind: string, path: string, id: string): Promise<void> {
    const own = made.get(kind) ?? []
    made.set(kind, own)
    // Another version of a SmartModule has the same id.
    if (!own.includes(`${path}/${id}`)) own.push(`${path}/${id}`)
    // A resource that is still in use goes to the end of the list, once.
    for (let tries = own.length; own.length > KEPT_MAX && tries > 0; tries--) {
      const oldest = own.shift()!
      forget(kind, oldest.split('/').at(-1)!)
      if ((await remove(oldest)) === 409) own.push(oldest)
    }
  }

  return {
    async take({ operationId, method, path: asked, body: sent }, status, body) {
      const [path] = asked.split('?') as [string]
      // The last two parts of its path name what was deleted.
      const [kind, id] = path.split('/').slice(-2) as [string, string]
      if (method === 'DELETE') return forget(kind, id)
      add('jobs', body.job_id)
      add('sign_in_token', body.sign_in_token)
      if (operationId === 'applyManifest') add('manifests', body.set)
      for (const letter of [body.dead_letters, body.groups].flatMap((list) => (Array.isArray(list) ? (list as Body[]) : []))) {
        add('dead_letter_id', letter.latest_id ?? letter.id)
        // The pipeline that has it.
        add('dead-letters', path.split('/').at(-2))
      }
      const collection = COLLECTION.exec(path)?.[1]
      const own = body.pipeline_id ?? body.id
      if (status !== 201 || !collection || typeof own !== 'string') return
      add(collection, own)
      if (collection === 'pipelines' && String(sent).includes('conn_webhook')) add('pipeline', own)
      if (collection === 'keys') names.credentials = { api_key: String(body.api_key), api_secret: String(body.api_secret) }
      await make(collection, path, own)
    },
  }
}
