/** Evaluates CEL expressions in WebAssembly as `dps/cel` does, with bound variables, and gives results with their types. */
import { join } from 'node:path'
import { filesBeside } from '../../shared/smartmodule/compile-cache.ts'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { openTestChain } from './chains.ts'

/** A value with its type; a double by its 64 bits, so that every one is exact. */
export type Typed =
  | { null: null }
  | { bool: boolean }
  | { int: string }
  | { uint: string }
  | { double: string }
  | { string: string }
  | { bytes: string }
  | { type: string }
  | { list: Typed[] }
  | { map: [Typed, Typed][] }
  | { timestamp: [string, string] }
  | { duration: string }
  | { optional: Typed[] }
  | { error: string }

export type Expression = { expr: string; bindings: Record<string, Typed> }

const CEL = join(import.meta.dirname, '..', '..', 'shared', 'smartmodule', 'catalogue', 'cel', 'module.ts')

/** A SmartModule whose records are expressions: each one's value becomes what its expression gives. */
const SOURCE = `
import { Record, Path, Writer, Kind, textOf } from 'dps'
import { bound, evaluate, look } from './evaluate'
import { fromJson, itemsOf, keysOf, putBase64 } from './json'
import { Root } from './node'
import { allow, allowNone, compile, problem } from './parser'
import { fromBase64, toBytes } from './convert'
import { K, Value, fail, ofBool, ofDouble, ofDuration, ofInt, ofList, ofMap, ofText, ofTimestamp, ofType, ofUint, stringOf, NULL } from './value'

const expr = new Path('expr')
const bindings = new Path('bindings')

function read(given: Value): Value {
  const name = stringOf(keysOf(given)[0])
  const inner = itemsOf(given)[0]
  if (name == 'null') return NULL
  if (name == 'bool') return inner
  if (name == 'int') return ofInt(I64.parseInt(stringOf(inner)))
  if (name == 'uint') return ofUint(U64.parseInt(stringOf(inner)))
  if (name == 'double') return ofDouble(reinterpret<f64>(I64.parseInt(stringOf(inner))))
  if (name == 'string') return inner
  if (name == 'type') return ofType(stringOf(inner))
  if (name == 'bytes') return fromBase64(inner)
  if (name == 'timestamp') return ofTimestamp(I64.parseInt(stringOf(itemsOf(inner)[0])), I64.parseInt(stringOf(itemsOf(inner)[1])) as i32)
  if (name == 'duration') return ofDuration(I64.parseInt(stringOf(inner)))
  const items: Value[] = []
  const keys: Value[] = []
  const given_ = itemsOf(inner)
  for (let i = 0; i < given_.length; i++) {
    if (name == 'list') items.push(read(given_[i]))
    else {
      keys.push(read(itemsOf(given_[i])[0]))
      items.push(read(itemsOf(given_[i])[1]))
    }
  }
  return name == 'list' ? ofList(items) : ofMap(keys, items)
}

function ascii(out: Writer, text: string): void { for (let i = 0; i < text.length; i++) out.byte(text.charCodeAt(i)) }

function named(out: Writer, name: string): void {
  out.byte(123)
  out.text(name)
  out.byte(58)
}

function write(out: Writer, value: Value): void {
  const kind = value.kind
  if (kind == K.Null) ascii(out, '{"null":null')
  else if (kind == K.Bool) ascii(out, '{"bool":' + (value.n != 0 ? 'true' : 'false'))
  else if (kind == K.Int) ascii(out, '{"int":"' + value.n.toString() + '"')
  else if (kind == K.Uint) ascii(out, '{"uint":"' + (value.n as u64).toString() + '"')
  else if (kind == K.Double) ascii(out, '{"double":"' + reinterpret<i64>(value.d).toString() + '"')
  else if (kind == K.Timestamp) ascii(out, '{"timestamp":["' + value.n.toString() + '","' + value.nanos.toString() + '"]')
  else if (kind == K.Duration) ascii(out, '{"duration":"' + value.n.toString() + '"')
  else if (kind == K.Bytes) {
    ascii(out, '{"bytes":"')
    putBase64(out, value.ptr, value.length)
    out.byte(34)
  } else if (kind == K.List || kind == K.Map || kind == K.Optional) {
    named(out, kind == K.List ? 'list' : kind == K.Map ? 'map' : 'optional')
    out.byte(91)
    const isNone = kind == K.Optional && value.items === null
    const count = isNone ? 0 : itemsOf(value).length
    for (let i = 0; i < count; i++) {
      if (i > 0) out.byte(44)
      if (kind == K.Map) {
        out.byte(91)
        write(out, keysOf(value)[i])
        out.byte(44)
      }
      write(out, itemsOf(value)[i])
      if (kind == K.Map) out.byte(93)
    }
    out.byte(93)
  } else {
    named(out, kind == K.String ? 'string' : kind == K.Type ? 'type' : 'error')
    out.quoted(value.ptr, value.length)
  }
  out.byte(125)
}

export function map(record: Record): void {
  const found = record.find(expr)
  const text = textOf(found.start, found.end)
  allowNone()
  bound.length = 0
  const given = record.find(bindings)
  const all = fromJson(given.start, given.end)
  for (let i = 0; i < keysOf(all).length; i++) {
    allow(stringOf(keysOf(all)[i]), Root.Bound + i)
    bound.push(read(itemsOf(all)[i]))
  }
  const node = compile(text, false)
  look(record)
  const result = problem.length > 0 ? fail('compile: ' + problem) : evaluate(node)
  const out = record.writer()
  write(out, result)
  record.commit(out)
}
`

/** What each expression gives, in order. */
export async function evaluateAll(expressions: Expression[]): Promise<Typed[]> {
  const others = await filesBeside(CEL)
  const module = await WebAssembly.compile(await compileSmartModule(SOURCE, others))
  const chain = await openTestChain([{ name: 'cel-test', config: {} }], { 'cel-test': module })
  const { values, failures } = await chain.run(expressions.map((each) => JSON.stringify(each)))
  const failed = new Map(failures.map(({ delta, message }) => [delta, message]))
  const left = values.map((value) => value!)
  return expressions.map((_, delta): Typed => (failed.has(delta) ? { error: `failed: ${failed.get(delta)}` } : JSON.parse(left.shift()!)))
}
