/** The first pipeline: a few lines of JSON, or of CSV, become a stream, an expression becomes its step, and the counter runs. */
import { useLocation } from 'preact-iso'
import { useState } from 'preact/hooks'
import type { ListStreamsResponse, TestSmartModuleResponse, Trace } from '../../../../clients/typescript/src/generated/types.ts'
import { HOME, post, remove } from '../api.ts'
import { Field, Refused, Title } from '../parts/parts.tsx'
import { Results } from '../parts/results.tsx'
import { SameAs, type Ways } from '../parts/same-as.tsx'
import { useAction, useAll } from '../query.ts'
import { fedSchemaOf, generatedOf, isCsv, rowsOf, schemaOf } from '../rows.ts'
import { may } from '../session.ts'
import { asCurl, asYaml, needed, operand, quoted, variable } from '../same-as.ts'
import { useUnsaved } from '../unsaved.ts'

const NAME = 'orders'
const SAMPLE = `{"id": "a1", "city": "Wien", "amount": 12.5}
{"id": "a2", "city": "Berlin", "amount": 99}
{"id": "a3", "city": "Wien", "amount": 250.75}`

const TRIED = 20
/** Expressions to begin with, by what they do. */
const TEMPLATES = [
  ['a number above another', 'value.amount > 50.0'],
  ['a text that begins so', 'value.city.startsWith("W")'],
  ['a field that is there', 'has(value.amount)'],
] as const

/** The stream that the pipeline writes. */
const sinkOf = (name: string): string => `${name}-filtered`

/** The name that is typed; until then one for which neither of the two streams exists yet. */
function useName() {
  const taken = new Set(useAll<ListStreamsResponse>('/streams').data?.streams.map(({ name }) => name))
  const [typed, setName] = useState<string>()
  let free = NAME
  for (let n = 2; taken.has(free) || taken.has(sinkOf(free)); n++) free = `${NAME}-${n}`
  return { name: typed ?? free, setName, isOwn: typed !== undefined && typed !== free }
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

const schemaFor = (text: string, isFed: boolean): Record<string, string> => {
  const schema = schemaOf(rowsOf(text))
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
  const schema = schemaFor(text, isFed)
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

/** What becomes of the first records. */
async function tracesOf(text: string, filter: string): Promise<Trace[]> {
  const records = rowsOf(text)
    .slice(0, TRIED)
    .map((value) => ({ value }))
  const tried = await post<TestSmartModuleResponse>('/smartmodules/test', { processors: stepsOf(filter), records })
  return tried.records
}

export function Start() {
  const { route } = useLocation()
  const { name, setName, isOwn } = useName()
  const [text, setText] = useState(SAMPLE)
  const [filter, setFilter] = useState<string>(TEMPLATES[0][1])
  const [isFed, setIsFed] = useState(false)
  const [traces, setTraces] = useState<Trace[]>()
  const [isTrying, setIsTrying] = useState(false)
  const { run, isBusy, failure } = useAction()
  useUnsaved(text !== SAMPLE || isOwn || filter !== TEMPLATES[0][1] || isFed)
  /** What was refused about a field, whose member begins so. */
  const faultOf = (member: string): string | undefined =>
    failure?.details
      .filter(({ path }) => path.startsWith(member))
      .map(({ message }) => message)
      .join('; ')

  async function make(): Promise<void> {
    setIsTrying(false)
    const rows = rowsOf(text)
    const schema = schemaFor(text, isFed)
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
      route(`${HOME.pathname}pipelines/${pipeline_id}`)
    } catch (error) {
      // The next attempt begins anew, perhaps with other fields.
      for (const path of made) await remove(path).catch(() => {})
      throw error
    }
  }

  async function tryIt(): Promise<void> {
    setTraces(undefined)
    setIsTrying(true)
    setTraces(await tracesOf(text, filter))
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
          void run(make)
        }}
      >
        <Field
          name="Name"
          hint="The stream’s name; the pipeline and what it delivers are named after it."
          fault={failure?.status === 409 ? failure.message : faultOf('/name')}
        >
          <input required value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} />
        </Field>
        <Field name="A file instead" hint="Lines of JSON, an array, or CSV with a header; what it holds comes into the field below.">
          <input
            type="file"
            accept=".json,.jsonl,.ndjson,.csv"
            onChange={({ currentTarget }) => void run(async () => setText((await currentTarget.files?.[0]?.text()) ?? text))}
          />
        </Field>
        <Field
          name="Some records"
          hint="One JSON object a line, an array, or CSV with a header. They make the stream’s schema, and are written to it."
        >
          <textarea rows={8} required spellcheck={false} value={text} onInput={({ currentTarget }) => setText(currentTarget.value)} />
        </Field>
        <Field
          name="Keep records for which"
          hint="An expression (CEL) over value, key, headers and timestamp; empty keeps all."
          fault={faultOf('/processors')}
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
        <Refused failure={failure} />
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
