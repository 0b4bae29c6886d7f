/** The first pipeline: a few lines of JSON, or of CSV, become a stream, an expression becomes its step, and the counter runs. */
import { useLocation } from 'preact-iso'
import { useState } from 'preact/hooks'
import type { ListStreamsResponse, TestSmartModuleResponse, Trace } from '../../../../clients/typescript/src/generated/types.ts'
import { Failure, HOME, post, remove } from '../api.ts'
import { Refused, faultAt } from '../parts/failures.tsx'
import { Field } from '../parts/field.tsx'
import { Title } from '../parts/title.tsx'
import { Results } from '../parts/results.tsx'
import { SameAs, type Ways } from '../parts/same-as.tsx'
import { useAction, useAll } from '../query.ts'
import { textOfFile } from '../records.ts'
import { checkNumbers, fedSchemaOf, generatedOf, isCsv, rowsOf, schemaOf, type Row } from '../rows.ts'
import { may } from '../session.ts'
import { asCurl, asYaml, needed, operand, quoted, variable } from '../same-as.ts'
import { Mistyped } from '../typed-text.ts'
import { useUnsaved } from '../unsaved.ts'

const NAME = 'orders'
const SAMPLE = `{"id": "a1", "city": "Wien", "amount": 12.5}
{"id": "a2", "city": "Berlin", "amount": 99}
{"id": "a3", "city": "Wien", "amount": 250.75}`

/** What one request may write. */
const WRITTEN_MAX = 1 << 20
const TOO_LARGE = 'is larger than 1 MB: make the stream by its first lines, and write the file by dps produce'

const TRIED = 20
/** Expressions to begin with, by what they do. */
const TEMPLATES = [
  ['a number above another', 'value.amount > 50.0'],
  ['a text that begins so', 'value.city.startsWith("W")'],
  ['a field that is there', 'has(value.amount)'],
] as const

/** The stream that the pipeline writes. */
const sinkOf = (name: string): string => `${name}-filtered`

/** The name, or the next one behind it for which neither of the two streams exists yet. */
function freeFrom(name: string, taken: ReadonlySet<string>): string {
  let free = name
  for (let n = 2; taken.has(free) || taken.has(sinkOf(free)); n++) free = `${name}-${n}`
  return free
}

/** The name that is typed; until then one that is free, as far as the names are known. */
function useName() {
  const streams = useAll<ListStreamsResponse>('/streams').data?.streams ?? []
  const [typed, setName] = useState<string>()
  const [refused, setRefused] = useState<readonly string[]>([])
  const freeBesides = (names: readonly string[], name: string): string =>
    freeFrom(name, new Set([...streams.map((stream) => stream.name), ...names]))
  const proposed = freeBesides(refused, NAME)
  const name = typed ?? proposed

  /** Does the work with the name; where another has it by now, with the next free one, unless a person chose it. */
  async function withName(work: (name: string) => Promise<void>, chosen = typed): Promise<void> {
    setName(chosen)
    let names = refused
    for (let own = chosen ?? proposed; ; own = freeBesides(names, NAME)) {
      try {
        return await work(own)
      } catch (error) {
        if (!(error instanceof Failure) || error.status !== 409 || error.details[0]?.path !== '/name') throw error
        setRefused((names = [...names, own]))
        if (chosen !== undefined) throw error
      }
    }
  }

  /** In place of the name, once that was refused. */
  const instead = refused.includes(name) ? freeBesides(refused, name) : undefined
  return { name, setName, isOwn: typed !== undefined && typed !== proposed, withName, instead }
}

const stepsOf = (filter: string) => [{ module_id: 'dps/cel', config: { filter: filter.trim() === '' ? 'true' : filter } }]

const pipelineOf = (name: string, filter: string, source: string, sink: string) => ({
  name: `${name}-pipeline`,
  source: { connector_id: 'stream', config: { stream_id: source } },
  processors: filter.trim() === '' ? [] : stepsOf(filter),
  sink: { connector_id: 'stream', config: { stream_id: sink } },
})

/** More records with the same fields, so that there is something to watch. */
const RATE = 10
const generated = (schema: Record<string, string>) => ({ records_per_second: RATE, schema: generatedOf(schema) })

const schemaFor = (rows: readonly Row[], isFed: boolean): Record<string, string> => {
  const schema = schemaOf(rows)
  checkNumbers(rows, schema)
  return isFed ? fedSchemaOf(schema) : schema
}

const feederOf = (name: string, schema: Record<string, string>, source: string) => ({
  name: `${name}-generator`,
  source: { connector_id: 'generator', config: generated(schema) },
  sink: { connector_id: 'stream', config: { stream_id: source } },
})

/** The whole form by other ways. Throws for records that are none. */
function waysOf(name: string, text: string, filter: string, isFed: boolean): Ways {
  const records = rowsOf(text)
  needed(name, records)
  const schema = schemaFor(records, isFed)
  const [source, sink] = [variable('SOURCE'), variable('SINK')]
  const steps = filter.trim() === '' ? [] : [{ module: 'dps/cel', with: { filter } }]
  const yaml = asYaml(name, {
    streams: { [name]: { schema }, [sinkOf(name)]: { schema } },
    pipelines: {
      [`${name}-pipeline`]: { source: { stream: name }, steps, sink: { stream: sinkOf(name) } },
      ...(isFed ? { [`${name}-generator`]: { source: { connector: 'generator', with: generated(schema) }, sink: { stream: name } } } : {}),
    },
  })
  const file = `${name}.${isCsv(text) ? 'csv' : 'ndjson'}`
  return {
    curl: asCurl([
      { method: 'POST', path: '/streams', body: { name, schema }, into: 'SOURCE', take: 'id' },
      { method: 'POST', path: '/streams', body: { name: sinkOf(name), schema }, into: 'SINK', take: 'id' },
      { method: 'POST', path: `/streams/${source}/data`, body: { records } },
      ...(isFed ? [{ method: 'POST', path: '/pipelines', body: feederOf(name, schema, source) }] : []),
      { method: 'POST', path: '/pipelines', body: pipelineOf(name, filter, source, sink) },
    ]),
    dps: `# what YAML shows, as ${name}.yaml; the records, one a line, as ${file}\ndps apply ${operand(`${name}.yaml`)}\ndps produce ${operand(name)} ${quoted(file)}`,
    YAML: `# without the records\n${yaml}`,
  }
}

function Examples({ onChoose }: { onChoose(expression: string): void }) {
  return (
    <p>
      For example:{' '}
      {TEMPLATES.map(([what, expression]) => (
        <button key={what} type="button" class="plain" onClick={() => onChoose(expression)}>
          {what}
        </button>
      ))}
    </p>
  )
}

/** The streams, the records and the pipelines. Returns the pipeline's id; where it can't be made, nothing stays. */
async function make(name: string, text: string, filter: string, isFed: boolean): Promise<string> {
  const rows = rowsOf(text)
  const schema = schemaFor(rows, isFed)
  const made: string[] = []
  const create = async (own: string): Promise<string> => {
    const { id } = await post<{ id: string }>('/streams', { name: own, schema })
    made.push(`/streams/${id}`)
    return id
  }
  try {
    const [source, sink] = [await create(name), await create(sinkOf(name))]
    await post(`/streams/${source}/data`, { records: rows })
    if (isFed) {
      const feeder = await post<{ pipeline_id: string }>('/pipelines', feederOf(name, schema, source))
      // Before the stream that it writes.
      made.unshift(`/pipelines/${feeder.pipeline_id}`)
    }
    const { pipeline_id } = await post<{ pipeline_id: string }>('/pipelines', pipelineOf(name, filter, source, sink))
    return pipeline_id
  } catch (error) {
    // The next attempt begins anew, perhaps with other fields.
    for (const path of made) await remove(path).catch(() => {})
    throw error
  }
}

/** What becomes of the first records. */
async function tracesOf(text: string, filter: string): Promise<Trace[]> {
  const rows = rowsOf(text)
  checkNumbers(rows, schemaOf(rows))
  const records = rows.slice(0, TRIED).map((value) => ({ value }))
  const tried = await post<TestSmartModuleResponse>('/smartmodules/test', { processors: stepsOf(filter), records })
  return tried.records
}

/** The records as text. A file that can't be read is no text: until there is another, `sure` throws why, in place of the text before. */
function useRecords() {
  const [text, setText] = useState(SAMPLE)
  const [refusal, refuse] = useState<unknown>()
  return {
    text,
    refuse,
    take(next: string): void {
      refuse(undefined)
      setText(next)
    },
    sure(): string {
      if (refusal !== undefined) throw refusal
      return text
    },
  }
}

export function Start() {
  const { route } = useLocation()
  const { name, setName, isOwn, withName, instead } = useName()
  const { text, take, sure, refuse } = useRecords()
  const [filter, setFilter] = useState<string>(TEMPLATES[0][1])
  const [isFed, setIsFed] = useState(false)
  const [traces, setTraces] = useState<Trace[]>()
  const [isTrying, setIsTrying] = useState(false)
  const { run, isBusy, failure } = useAction()
  useUnsaved(text !== SAMPLE || isOwn || filter !== TEMPLATES[0][1] || isFed)
  const makeIt = (chosen?: string): void => {
    setIsTrying(false)
    void run(() => withName(async (own) => route(`${HOME.pathname}pipelines/${await make(own, sure(), filter, isFed)}`), chosen))
  }

  async function tryIt(): Promise<void> {
    setTraces(undefined)
    setIsTrying(true)
    setTraces(await tracesOf(sure(), filter))
  }

  return (
    <>
      <Title text="New pipeline">
        <a class="button second" href={`${HOME.pathname}pipelines/new`}>
          Any source, chain and sink instead
        </a>
      </Title>
      <form
        class="start"
        onSubmit={(event) => {
          event.preventDefault()
          makeIt()
        }}
      >
        <Field
          name="Name"
          hint="The stream’s name; the pipeline and what it delivers are named after it."
          fault={instead ? failure?.message : failure?.status === 409 ? undefined : faultAt(failure, '/name')}
        >
          {/* The longest of the names that are made of it has ten more. */}
          <input required maxLength={190} value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} />
        </Field>
        {instead && (
          <button type="button" class="second" disabled={isBusy} onClick={() => makeIt(instead)}>
            Make it as {instead}
          </button>
        )}
        <Field
          name="A file instead"
          hint="Lines of JSON, an array, or CSV with a header, of 1 MB at most; what it holds comes into the field below."
          fault={faultAt(failure, '/file')}
        >
          <input
            type="file"
            accept=".json,.jsonl,.ndjson,.csv"
            onChange={({ currentTarget }) =>
              void run(async () => {
                const file = currentTarget.files?.[0]
                try {
                  if (file && file.size > WRITTEN_MAX) throw new Mistyped('/file', TOO_LARGE)
                  if (file) take(await textOfFile(file))
                } catch (error) {
                  refuse(error)
                  throw error
                }
              })
            }
          />
        </Field>
        <Field
          name="Some records"
          hint="One JSON object a line, an array, or CSV with a header. They make the stream’s schema, and are written to it."
          fault={faultAt(failure, '/records')}
        >
          <textarea rows={8} required spellcheck={false} value={text} onInput={({ currentTarget }) => take(currentTarget.value)} />
        </Field>
        <Field
          name="Keep records for which"
          hint="An expression (CEL) over value, key, headers and timestamp; empty keeps all."
          fault={faultAt(failure, '/processors/0')}
        >
          <input
            spellcheck={false}
            value={filter}
            onInput={({ currentTarget }) => setFilter(currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter') return
              // As the first button says: one tries an expression before one makes anything with it.
              event.preventDefault()
              void run(tryIt)
            }}
          />
        </Field>
        <Examples onChoose={setFilter} />
        <label>
          <input type="checkbox" checked={isFed} onChange={({ currentTarget }) => setIsFed(currentTarget.checked)} /> and {RATE} more a
          second from a generator, with the same fields, so that there is something to watch
        </label>
        <Refused failure={instead ? undefined : failure} beside={['/name', '/file', '/records', '/processors/0']} />
        {!may('pipelines:write') && <p class="refused">Your role may look, but not make a pipeline.</p>}
        <div class="actions">
          <button type="button" disabled={isBusy} onClick={() => void run(tryIt)}>
            {isBusy && isTrying ? 'Trying…' : 'Try it on them'}
          </button>
          <button disabled={isBusy || !may('pipelines:write')}>{isBusy && !isTrying ? 'Working…' : 'Make the pipeline'}</button>
        </div>
      </form>
      {traces && <Results traces={traces} />}
      <SameAs of="curl, dps or YAML" ways={() => waysOf(name, text, filter, isFed)} />
    </>
  )
}
