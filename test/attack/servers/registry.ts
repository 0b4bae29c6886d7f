/** A schema registry that lies. The port also answers as an honest Kafka broker, so that its schemas meet records. */
import { gzipSync } from 'node:zlib'
import { drip, once, sendForever, type WebLie } from './lie.ts'

type Answer = WebLie['answer']
type Kind = 'AVRO' | 'PROTOBUF' | 'JSON'

const said =
  (body: () => string | Buffer, status = 200, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/vnd.schemaregistry.v1+json', ...headers }).end(body())
const schema = (kind: Kind, text: string, references: unknown[] = []): string =>
  JSON.stringify({ id: 1, version: 1, schemaType: kind, schema: text, references })
const given = (kind: Kind, text: () => string): Answer => said(once(() => schema(kind, text())))

/** Bytes that the connector takes of a schema. */
const SCHEMA_FULL = 250 << 10
const JUNK = Buffer.alloc(64 << 10, 'x')
const times = (count: number, part: (at: number) => string): string => Array.from({ length: count }, (_, at) => part(at)).join('')

/** Values of schema 1, as Confluent frames them. */
const framed = (...parts: Buffer[]): Buffer => Buffer.concat([Buffer.from([0, 0, 0, 0, 1]), ...parts])
/** Behind the frame, the index of Protobuf's first message. */
const FIRST = Buffer.from([0])

/** Records whose defaults hold two of the record before: 2^depth of them in the last. */
function doubling(depth: number): string {
  let type: unknown = { type: 'record', name: 'D0', fields: [{ name: 'n', type: 'int', default: 0 }] }
  let value: unknown = {}
  for (let level = 1; level <= depth; level++) {
    const fields = [
      { name: 'a', type, default: value },
      { name: 'b', type: `D${level - 1}`, default: value },
    ]
    type = { type: 'record', name: `D${level}`, fields }
    value = {}
  }
  return JSON.stringify(type)
}

const lists = (depth: number): string => `${'{"type":"array","items":'.repeat(depth)}"int"${'}'.repeat(depth)}`
const fields = (count: number, type: string): string => times(count, (at) => `{"name":"f${at}","type":"${type}"},`).slice(0, -1)
const record = (inner: string): string => `{"type":"record","name":"R","fields":[${inner}]}`
const messages = (depth: number): string => `syntax="proto3";${'message M {'.repeat(depth)}${'}'.repeat(depth)}`
/** Messages each of which has the one behind it, in the order in which a search through them takes longest. */
const chain = (count: number): string =>
  `syntax="proto3";${times(count, (at) => `message M${at}{M${at + 1} a=1;}`)}message M${count}{int64 a=1;}`

/** Read when a sink is checked. */
const onCheck = (name: string, why: string, answer: Answer): WebLie => ({ name, why, way: 'check sink', answer })
/** Read when a record of the topic names the schema. */
const onRead = (name: string, why: string, values: () => Buffer[], answer: Answer): WebLie => ({ name, why, way: 'read', values, answer })

const ANSWERS: readonly WebLie[] = [
  onCheck('schema-of-100-megabytes', 'a schema far beyond what is taken', (_request, response) => {
    response.write('{"schema":"')
    sendForever(response, JUNK)
  }),
  onCheck(
    'not-json',
    'a page instead of JSON',
    said(() => '<html>no</html>', 200, { 'content-type': 'text/html' }),
  ),
  onCheck(
    'lists-in-lists',
    '4 MiB of opening brackets',
    said(() => '['.repeat((4 << 20) - 9)),
  ),
  onCheck('drip', 'a byte each 50 ms', (_request, response) => drip(response, Buffer.alloc(1e6, ' '), 50)),
  onCheck(
    'gzip-1000',
    'one byte becomes a thousand',
    said(
      once(() => gzipSync(Buffer.alloc(64 << 20, ' '), { level: 9 })),
      200,
      { 'content-encoding': 'gzip' },
    ),
  ),
  onCheck(
    'redirect-to-metadata',
    'the cloud’s metadata service',
    said(() => '', 307, { location: 'http://169.254.169.254/' }),
  ),
  onCheck('refused-without-end', '401 whose body never ends', (_request, response) => sendForever(response.writeHead(401), JUNK)),
  onCheck(
    'error-of-4-megabytes',
    '500 with a long text',
    said(() => 'e'.repeat(4_000_000), 500),
  ),
  {
    name: 'subjects-without-end',
    way: 'check source',
    why: 'three hundred thousand subjects',
    answer: said(once(() => JSON.stringify(Array.from({ length: 300_000 }, (_, at) => `s${at}`)))),
  },
  { name: 'silence', way: 'check source', why: 'takes the request and says nothing', answer: () => {} },
]

const REFERENCES: readonly WebLie[] = [
  onCheck(
    'refers-to-itself',
    'a schema that refers to itself',
    said(() => schema('AVRO', '"int"', [{ name: 'a', subject: 'a', version: 1 }])),
  ),
  onCheck('refers-without-end', 'each schema refers to a hundred others, none of them twice', (request, response) => {
    const at = Number(/s(\d+)/.exec(request.url ?? '')?.[1] ?? 0)
    const references = Array.from({ length: 100 }, (_, next) => ({ name: 'a', subject: `s${at * 100 + next + 1}`, version: 1 }))
    response.end(schema('AVRO', '"int"', references))
  }),
  onCheck(
    'refers-to-other-paths',
    'a subject that leads out of the registry’s paths',
    said(() => schema('AVRO', '"int"', [{ name: '__proto__', subject: '../../..//169.254.169.254/', version: -1 }])),
  ),
  onCheck(
    'refers-to-a-million',
    'a million references in one answer',
    said(
      once(() =>
        schema(
          'AVRO',
          '"int"',
          Array.from({ length: 60_000 }, (_, at) => ({ name: 'a', subject: `s${at}`, version: 1 })),
        ),
      ),
    ),
  ),
]

const SCHEMAS: readonly WebLie[] = [
  onCheck(
    'avro-lists-in-lists',
    'ten thousand lists in one another',
    given('AVRO', () => lists(8000)),
  ),
  onCheck(
    'avro-of-many-fields',
    'seven thousand fields: the library writes code for each',
    given('AVRO', () => record(fields(7000, 'long'))),
  ),
  onCheck(
    'avro-of-doubling-defaults',
    'defaults that double with each of 26 levels',
    given('AVRO', () => doubling(26)),
  ),
  onCheck(
    'avro-symbols',
    'an enum of thirty thousand symbols',
    given('AVRO', () => `{"type":"enum","name":"E","symbols":[${times(28_000, (at) => `"s${at}",`).slice(0, -1)}]}`),
  ),
  onCheck(
    'avro-name-as-code',
    'a field whose name is code',
    given('AVRO', () => record('{"name":"x;process.exit(77)//","type":"int"}')),
  ),
  onCheck(
    'avro-names-of-the-prototype',
    'types and fields of the prototype’s names',
    given('AVRO', () => record('{"name":"__proto__","type":"constructor"},{"name":"constructor","type":["null","toString"]}')),
  ),
  onCheck(
    'avro-fixed-max',
    'a fixed type of 2^31-1 bytes, with a default',
    given('AVRO', () => record('{"name":"a","type":{"type":"fixed","name":"F","size":2147483647},"default":"a"}')),
  ),
  onCheck(
    'avro-null-lists',
    'lists within lists of nothing',
    given('AVRO', () => `{"type":"map","values":{"type":"array","items":{"type":"array","items":"null"}}}`),
  ),
  onCheck(
    'protobuf-messages-in-messages',
    'ten thousand messages in one another',
    given('PROTOBUF', () => messages(20_000)),
  ),
  onCheck(
    'protobuf-chain',
    'eight thousand messages, each of which has the next',
    given('PROTOBUF', () => chain(8000)),
  ),
  onCheck(
    'protobuf-of-many-fields',
    'twelve thousand fields',
    given('PROTOBUF', () => `syntax="proto3";message M{${times(12_000, (at) => `int64 f${at}=${at + 1};`)}}`),
  ),
  onCheck(
    'protobuf-name-as-code',
    'an option through the prototype, and a name that is code',
    given(
      'PROTOBUF',
      () =>
        'syntax="proto3";option (a).constructor.prototype.lied=77;message M{option (b).__proto__.lied=77;int32 x=1 [default="\\");process.exit(77)//"];}',
    ),
  ),
  onCheck(
    'protobuf-open-comments',
    'comments and strings that never close',
    given('PROTOBUF', () => `syntax="proto3";message M{}${'/* " '.repeat(SCHEMA_FULL / 6)}`),
  ),
  onCheck(
    'protobuf-descriptor-of-noise',
    'base64 that is no descriptor',
    given('PROTOBUF', () => Buffer.alloc(180_000, 0x0a).toString('base64')),
  ),
]

const VALUES: readonly WebLie[] = [
  onRead(
    'protobuf-defaults',
    'half a million empty messages in 1 MB, each of which has eight thousand defaults',
    () => [framed(FIRST, Buffer.alloc(1_000_000, Buffer.from([10, 0])))],
    given('PROTOBUF', () => `syntax="proto3";message M{repeated N n=1;}message N{${times(8000, (at) => `string f${at}=${at + 1};`)}}`),
  ),
  onRead(
    'protobuf-groups',
    'a message that holds itself, a million deep',
    () => [framed(FIRST, Buffer.alloc(1_000_000, 11))],
    given('PROTOBUF', () => 'syntax="proto3";message M{M m=1;}'),
  ),
  onRead(
    'avro-of-deep-values',
    'a record that holds itself, a million deep',
    () => [framed(Buffer.alloc(1_000_000, 2))],
    given('AVRO', () => record('{"name":"r","type":["null","R"]}')),
  ),
  onRead(
    'avro-of-two-billion-items',
    'five bytes that claim two billion items: beyond the end the library reads zeros',
    () => [framed(Buffer.from([0xfe, 0xff, 0xff, 0xff, 0x0f]))],
    given('AVRO', () => '{"type":"array","items":{"type":"enum","name":"E","symbols":["a"]}}'),
  ),
  onRead(
    'avro-of-long-strings',
    'a string that claims 2^60 bytes, and negative ones',
    () => [framed(Buffer.from('808080808080808010', 'hex')), framed(Buffer.from([0x01]))],
    given('AVRO', () => '"string"'),
  ),
  onRead(
    'schema-per-record',
    'a record for each of ten thousand schemas, none of which exists',
    () => Array.from({ length: 10_000 }, (_, id) => Buffer.concat([Buffer.from([0, 0, 0, id >> 8, id & 255]), FIRST])),
    said(() => '{}', 404),
  ),
]

export const LIES: readonly WebLie[] = [...ANSWERS, ...REFERENCES, ...SCHEMAS, ...VALUES]
