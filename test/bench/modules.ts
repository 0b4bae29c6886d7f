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
const TURNS = 100
const RUNS = 5
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

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
const round = (value: number): number => Math.round(value * 10) / 10

/** Nanoseconds of one record. */
async function measured(steps: Step[], documents: string[], modules: Record<string, WebAssembly.Module> = {}, kind?: ModuleKind) {
  const chain = await openTestChain(steps, modules, undefined, kind)
  const turns = kind === undefined ? TURNS : 3
  // Until V8 has optimised the kernel too: what is measured first would look slower than it is.
  await chain.measure(documents, 5 * turns)
  const runs: number[] = []
  for (let run = 0; run < RUNS; run++) runs.push(await chain.measure(documents, turns))
  return median(runs)
}

function timed(documents: string[], work: (document: string) => void): number {
  const runs: number[] = []
  for (let run = 0; run < 2 * RUNS; run++) {
    const from = process.hrtime.bigint()
    for (let turn = 0; turn < 10; turn++) documents.forEach(work)
    runs.push(Number(process.hrtime.bigint() - from) / (10 * documents.length))
  }
  return median(runs.slice(RUNS))
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
    const bare = await measured([], documents)
    const one = await measured([STEPS['dps/filter']!], documents)
    const found: Record<string, number> = {}
    for (const [name, step] of Object.entries(STEPS)) found[name] = Math.round((await measured([step], documents)) - bare)
    const five = await measured(
      Array.from({ length: 5 }, () => ({ name: 'dps/filter', config: { field: 'amount', operator: 'gte', value: 0 } })),
      documents,
    )
    const alone = await measured([{ name: 'dps/filter', config: { field: 'amount', operator: 'gte', value: 0 } }], documents)
    const parsed = timed(documents, (document) => void (JSON.parse(document) as { amount: number }).amount)
    const condition = plan(celEnv(), parse(CONDITION))
    const other = timed(documents, (document) => void condition({ value: JSON.parse(document) as CelInput }))
    const shout = await WebAssembly.compile(await compileSmartModule(SHOUT))
    const plugin = await WebAssembly.compile(new Uint8Array(await compileFixture('shout')))
    const batch = await measured([{ name: 'shout', config: {} }], documents, { shout })
    const extism = await measured([{ name: 'shout', config: {} }], documents, { shout: plugin }, { kind: 'extism', extismFunction: 'map' })
    const ratios = {
      five_steps_by_one: round(five / alone),
      json_parse_by_filter: round(parsed / (one - bare)),
      other_cel_by_cel: round(other / found['dps/cel']!),
      extism_by_batch: round(extism / batch),
    }
    outcome[`${size}_bytes`] = { kernel_ns: Math.round(bare), step_ns: found, extism_ns: Math.round(extism), ...ratios }
    say(
      `${size} bytes, ns per record beside the kernel's ${Math.round(bare)}: ${Object.entries(found)
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
