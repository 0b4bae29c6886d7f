/** What is typed and sent nowhere yet, kept in this browser for this member: neither an ended session nor a closed tab loses it. */
import { useState } from 'preact/hooks'
import { parseAsWritten, writeJson } from '../../../clients/typescript/src/core/exact-json.ts'
import { session } from './session.ts'

/** A state under the name; `keep` also stores it, and undefined forgets what was stored. */
export function useStoredState<T>(name: string, first: T): { value: T; set(next: T): void; keep(next: T | undefined): void } {
  const key = `dps-${name}-${session.value?.member?.id}`
  const [value, set] = useState<T>(() => {
    const stored = localStorage.getItem(key)
    return stored === null ? first : (parseAsWritten(stored) as T)
  })
  return {
    value,
    set,
    keep(next) {
      set(next === undefined ? first : next)
      if (next === undefined) localStorage.removeItem(key)
      else localStorage.setItem(key, writeJson(next))
    },
  }
}
