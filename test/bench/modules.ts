/**
 * `make bench SUITE=modules`: what SmartModules cost for each record, in this process and without Kafka: the built-ins, five steps beside
 * one, a look-up beside JSON.parse, a batch module beside the same as an Extism plug-in, and CEL beside another implementation.
 */
import { celEnv, parse, plan, type CelInput } from '@bufbuild/cel'
import { compileFixture } from '../harness/compiled-fixtures.ts'
import { openTestChain, type ModuleKind } from '../harness/chains.ts'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import type { Step } from '../harness/pipelines.ts'

const RECORDS = 1000
const TURNS = 50
const RUNS = 10
const BYTES = { '200': 10, '2000': 1830 }

const documentsOf = (padding: number): string[] =>
  Array.from({ length: RECORDS }, (_, i) =>
    JSON.stringify({
      id: `o-${i}`,
      customer: { id: i % 1000, name: 'Ada Lovelace' },
      city: ['Wien', 'Graz', 'Warschau', 'Linz'][i % 4],
      amount: ((i * 7919) % 10_000) / 100,
      price: '12,50',
      items: [
        { sku: 'a', n: 1 },
        { sku: 'b', n: 2 },
      ],
      at: '2026-11-22T10:00:00Z',
      note: 'x'.repeat(padding),
    }),
  )

const CONDITION = 'value.amount > 50.0 && value.city.startsWith("W")'
const STEPS: Record<string, Step> = {
  'dps/filter': { name: 'dps/filter', config: { field: 'amount', operator: 'gt', value: 50 } },
  'dps/cel': { name: 'dps/cel', config: { filter: CONDITION } },
  'dps/cel set': { name: 'dps/cel', config: { set: { total: 'value.amount * 1.2', large: 'value.amount > 50.0' } } },
  'dps/map-fields': { name: 'dps/map-fields', config: { uppercase: ['city'], drop: ['id'] } },
  'dps/cast': { name: 'dps/cast', config: { fields: { price: { type: 'decimal', decimal_point: ',' } } } },
  'dps/redact': { name: 'dps/redact', config: { fields: { 'customer.name': 'mask' } } },
  'dps/explode': { name: 'dps/explode', config: { field: 'items' } },
  'dps/flatten': { name: 'dps/flatten', config: {} },
  'dps/timestamp': { name: 'dps/timestamp', config: { field: 'at' } },
  'dps/route-by': { name: 'dps/route-by', config: { fields: ['city'] } },
  'dps/lookup': { name: 'dps/lookup', config: { field: 'city', into: 'country', table: { Wien: 'AT', Warschau: 'PL' } } },
  'dps/parse': { name: 'dps/parse', config: { field: 'price', format: 'csv', columns: ['whole', 'cents'], into: 'parts' } },
  'dps/sample': { name: 'dps/sample', config: { share: 0.5, by: 'customer.id' } },
  'dps/validate': {
    name: 'dps/validate',
    config: {
      schema: {
        type: 'object',
        required: ['id', 'amount'],
        properties: { id: { type: 'string', pattern: '^o-[0-9]+$' }, amount: { type: 'number', minimum: 0 } },
      },
    },
  },
  'dps/text-classifier': { name: 'dps/text-classifier', config: { field: 'note', output_field: 'mood' } },
}

const round = (value: number): number => Math.round(value * 10) / 10

/** Something to be measured: how long it takes for a record, over all documents so many times, in nanoseconds. */
type Contender = { turns: number; measure(documents: string[], turns: number): Promise<number> }

async function chainOf(steps: Step[], modules: Record<string, WebAssembly.Module> = {}, kind?: ModuleKind): Promise<Contender> {
  const chain = await openTestChain(steps, modules, undefined, kind)
  return { turns: kind === undefined ? TURNS : 3, measure: chain.measure }
}

const workOf = (work: (document: string) => void): Contender => ({
  turns: 10,
  async measure(documents, turns) {
    const from = process.hrtime.bigint()
    for (let turn = 0; turn < turns; turn++) documents.forEach(work)
    return Number(process.hrtime.bigint() - from) / (turns * documents.length)
  },
})

/**
 * Nanoseconds of one record for each. They are measured in turn, because a machine is not equally quick all the time, and the least of
 * each counts: all that is more, others on the machine have taken.
 */
async function sideBySide<Name extends string>(documents: string[], contenders: Record<Name, Contender>): Promise<Record<Name, number>> {
  const all = Object.entries<Contender>(contenders)
  // Until V8 has optimised the kernel too: what is measured first would look slower than it is.
  for (const [, { turns, measure }] of all) await measure(documents, 5 * turns)
  const least = Object.fromEntries(all.map(([name]) => [name, Infinity])) as Record<Name, number>
  for (let run = 0; run < RUNS; run++)
    for (const [name, { turns, measure }] of all) least[name as Name] = Math.min(least[name as Name], await measure(documents, turns))
  return least
}

/** The plug-in `shout` as a batch module, which stores its bytes at addresses too: upper case behind the first colon. */
const SHOUT = `import { Record } from 'dps'
export function map(record: Record): void {
  const out = record.writer()
  out.room(record.end - record.start)
  let at = out.at
  let behind = false
  for (let p = record.start; p < record.end; p++) {
    const byte: u32 = load<u8>(p)
    store<u8>(at++, behind && byte >= 97 && byte <= 122 ? byte - 32 : byte)
    if (byte == 58) behind = true
  }
  out.at = at
  record.commit(out)
}`

export async function measureModules(say: (line: string) => void) {
  const outcome: Record<string, unknown> = {}
  for (const [size, padding] of Object.entries(BYTES)) {
    const documents = documentsOf(padding)
    const bare = await chainOf([])
    const steps = Object.fromEntries(
      await Promise.all(Object.entries(STEPS).map(async ([name, step]) => [name, await chainOf([step])] as const)),
    )
    const { kernel, ...whole } = await sideBySide(documents, { kernel: bare, ...steps })
    const found = Object.fromEntries(Object.entries<number>(whole).map(([name, ns]) => [name, Math.round(ns - kernel)]))
    const keeping: Step = { name: 'dps/filter', config: { field: 'amount', operator: 'gte', value: 0 } }
    const { one, five } = await sideBySide(documents, {
      one: await chainOf([keeping]),
      five: await chainOf(Array.from({ length: 5 }, () => keeping)),
    })
    const condition = plan(celEnv(), parse(CONDITION))
    const readers = await sideBySide(documents, {
      kernel: bare,
      filter: steps['dps/filter']!,
      cel: steps['dps/cel']!,
      parsed: workOf((document) => void (JSON.parse(document) as { amount: number }).amount),
      otherCel: workOf((document) => void condition({ value: JSON.parse(document) as CelInput })),
    })
    const shout = await WebAssembly.compile(await compileSmartModule(SHOUT))
    const plugin = await WebAssembly.compile(new Uint8Array(await compileFixture('shout')))
    const { batch, extism } = await sideBySide(documents, {
      batch: await chainOf([{ name: 'shout', config: {} }], { shout }),
      extism: await chainOf([{ name: 'shout', config: {} }], { shout: plugin }, { kind: 'extism', extismFunction: 'map' }),
    })
    const ratios = {
      five_steps_by_one: round(five / one),
      json_parse_by_filter: round(readers.parsed / (readers.filter - readers.kernel)),
      other_cel_by_cel: round(readers.otherCel / (readers.cel - readers.kernel)),
      extism_by_batch: round(extism / batch),
    }
    outcome[`${size}_bytes`] = { kernel_ns: Math.round(kernel), step_ns: found, extism_ns: Math.round(extism), ...ratios }
    say(
      `${size} bytes, ns per record beside the kernel's ${Math.round(kernel)}: ${Object.entries(found)
        .map(([name, ns]) => `${name} ${ns}`)
        .join(', ')}`,
    )
    say(
      `${size} bytes: five steps ${ratios.five_steps_by_one} × one; JSON.parse ${ratios.json_parse_by_filter} × dps/filter; @bufbuild/cel over JSON.parse ` +
        `${ratios.other_cel_by_cel} × dps/cel; an Extism plug-in ${Math.round(extism)} ns, ${ratios.extism_by_batch} × the same as a batch module`,
    )
  }
  return outcome
}
