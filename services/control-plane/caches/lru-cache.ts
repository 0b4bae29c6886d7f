/** Values that were found once, up to a number: then the one that was used longest ago makes room for the next. */

export type LruCache<K, V> = {
  get(key: K): V | undefined
  set(key: K, value: V): void
}

export function openLruCache<K, V extends {}>(countMax: number): LruCache<K, V> {
  // A Map has its entries in the order in which they were set.
  const values = new Map<K, V>()
  return {
    get(key) {
      const value = values.get(key)
      if (value === undefined) return undefined
      values.delete(key)
      values.set(key, value)
      return value
    },
    set(key, value) {
      values.delete(key)
      values.set(key, value)
      if (values.size > countMax) values.delete(values.keys().next().value as K)
    },
  }
}
