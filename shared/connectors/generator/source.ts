/** Record `n` depends only on the config and `n`, so that a restart continues with the same ones. Split `i` of `c` makes `i`, `i + c`, … */
import { setTimeout as sleep } from 'node:timers/promises'
import { createBlockBuilder } from '../record-block.ts'
import type { OpenSource } from '../source.ts'
import type { GeneratorConfig } from './connector.ts'

const TICK_MS = 100
const BLOCK_RECORDS_MAX = 20_000
const WORDS =
  'lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna aliqua'.split(' ')
const EPOCH_MS = Date.UTC(2026, 0, 1)

/** splitmix32: a well-mixed number for every state. */
function mix(state: number): number {
  let z = (state + 0x9e3779b9) | 0
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad)
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97)
  return (z ^ (z >>> 15)) >>> 0
}

/** The n-th record (from 0): the same for the same seed and schema, on every processor. */
function generatedRecord({ seed, schema }: Pick<GeneratorConfig, 'seed' | 'schema'>, n: number): Record<string, unknown> {
  let state = mix(seed ^ mix(n >>> 0) ^ Math.floor(n / 0x100000000))
  const next = () => (state = mix(state))
  const value = (name: string, type: GeneratorConfig['schema'][string]): unknown => {
    switch (type) {
      case 'integer':
        return name === 'n' ? n : next() % 1_000_000
      case 'number':
        return Math.round((next() / 0xffffffff) * 1e6) / 1000
      case 'boolean':
        return next() % 2 === 0
      case 'datetime':
        return new Date(EPOCH_MS + (n % 31_536_000) * 1000).toISOString()
      case 'uuid': {
        const hex = Array.from({ length: 4 }, () => next().toString(16).padStart(8, '0')).join('')
        return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`
      }
      default:
        return Array.from({ length: 3 + (next() % 8) }, () => WORDS[next() % WORDS.length]).join(' ')
    }
  }
  return Object.fromEntries(Object.entries(schema).map(([name, type]) => [name, value(name, type)]))
}

/** Opens the source: its splits share the numbers of the records among them. */
export async function openGenerator(config: GeneratorConfig): Promise<OpenSource> {
  const max = config.records_max ?? Number.POSITIVE_INFINITY
  return {
    async *read(split, position, _seen, signal) {
      const rate = config.records_per_second / split.count
      let next = position === undefined ? split.index : Number(position)
      const startedAt = performance.now()
      for (let made = 0; next < max && !signal.aborted;) {
        const due = Math.min(BLOCK_RECORDS_MAX, Math.floor(((performance.now() - startedAt) / 1000) * rate) - made)
        if (due > 0) {
          const builder = createBlockBuilder(64 << 10)
          for (let i = 0; i < due && next < max; i++, next += split.count, made++)
            builder.add(null, Buffer.from(JSON.stringify(generatedRecord(config, next))))
          yield { block: builder.take(), position: String(next) }
        }
        if (due < BLOCK_RECORDS_MAX) await sleep(TICK_MS, undefined, { signal }).catch(() => {})
      }
    },
    close: async () => {},
  }
}
