/** A part of a store: all keys are below a prefix, which its user neither sees nor can leave. */
import { ConfigRefused } from '../connector.ts'
import type { ObjectStore } from './object-store.ts'

/** Stores that are folders underneath resolve such parts of a key, and would leave the prefix. */
function inside(key: string): string {
  if (key.split(/[/\\]/).some((part) => part === '.' || part === '..'))
    throw new ConfigRefused(`the key ${JSON.stringify(key)} has a part "." or ".."`)
  return key
}

/** The store's objects below `below`, which ends in a slash. Its functions throw ConfigRefused for keys with a part `.` or `..`. */
export function prefixedStore(store: ObjectStore, below: string): ObjectStore {
  return {
    async *list(prefix, signal) {
      for await (const page of store.list(below + inside(prefix), signal))
        yield page.filter(({ key }) => key.startsWith(below)).map((object) => ({ ...object, key: object.key.slice(below.length) }))
    },
    read: async (object, from, signal) => store.read({ ...object, key: below + inside(object.key) }, from, signal),
    putNew: async (key, body, metadata, signal) => store.putNew(below + inside(key), body, metadata, signal),
    metadataOf: async (key, signal) => store.metadataOf(below + inside(key), signal),
    close: () => store.close(),
  }
}
