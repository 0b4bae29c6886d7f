/** A pipeline as a form: a new one, or the next revision of one, which is tried on real records and planned before it is saved. */
import { useLocation } from 'preact-iso'
import { useEffect, useState } from 'preact/hooks'
import { parseAsWritten, writeJson } from '../../../../clients/typescript/src/core/exact-json.ts'
import type {
  CreatePipelineResponse,
  ListConnectorsResponse,
  ListSecretsResponse,
  ListSmartModulesResponse,
  ListStreamsResponse,
  Pipeline,
  PlanPipelineResponse,
  PreviewPipelineResponse,
  TestSmartModuleResponse,
  Trace,
} from '../../../../clients/typescript/src/generated/types.ts'
import { getTagged, HOME, patch, post } from '../api.ts'
import { EndpointForm, isOfStream, STREAM, type Endpoint } from '../parts/endpoint-form.tsx'
import { Refused, faultAt } from '../parts/failures.tsx'
import { Field } from '../parts/field.tsx'
import { Table } from '../parts/table.tsx'
import { Title } from '../parts/title.tsx'
import { Results } from '../parts/results.tsx'
import { SameAs } from '../parts/same-as.tsx'
import { within } from '../parts/schema-form.tsx'
import { StepsForm } from '../parts/steps-form.tsx'
import { planRows } from '../plan-rows.ts'
import { isObject } from '../records.ts'
import { useAction, useAll } from '../query.ts'
import { asCurl, asYaml, needed } from '../same-as.ts'
import { may } from '../session.ts'
import { stepsOf, type Step } from '../steps.ts'
import { useUnsaved } from '../unsaved.ts'

type Draft = { name: string; description: string; source: Endpoint; processors: readonly Step[]; sink: Endpoint; tasks: number }

const NEW: Draft = {
  name: '',
  description: '',
  source: { connector_id: STREAM, config: {} },
  processors: [],
  sink: { connector_id: STREAM, config: {} },
  tasks: 1,
}
const TRIED = 20

const EFFECTS: Record<PlanPipelineResponse['effect'], string> = {
  none: 'Nothing that runs changes.',
  live: 'Running tasks take it over between two rounds: nothing stops.',
  reopen: 'Its tasks start anew, and go on where they were.',
}

const draftOf = (pipeline: Pipeline): Draft => {
  const { name, description, source, sink, tasks } = pipeline
  return { name, description, source, processors: stepsOf(pipeline), sink, tasks }
}

/** Members that are not as they were. */
function changeOf(before: Draft, after: Draft): Partial<Draft> {
  const members = ['name', 'description', 'processors', 'sink', 'tasks'] as const
  return Object.fromEntries(members.flatMap((name) => (writeJson(before[name]) === writeJson(after[name]) ? [] : [[name, after[name]]])))
}

function Plan({ plan }: { plan: PlanPipelineResponse }) {
  return (
    <section aria-label="What it changes" role="status">
      <p>
        <b>{EFFECTS[plan.effect]}</b>
        {plan.effect !== 'none' && ` It becomes revision ${plan.revision}.`}
      </p>
      {plan.differences.length > 0 && (
        <Table label="What it changes" columns={['Where', 'Before', 'After']}>
          {planRows(plan.differences).map(({ path, before, after }) => (
            <tr key={path}>
              <th scope="row">{path}</th>
              <td class="value was">{before ?? <span class="quiet">absent</span>}</td>
              <td class="value is">{after ?? <span class="quiet">removed</span>}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

/** The newest records of the source through the chain as it is written. */
function Trial({ draft, id }: { draft: Draft; id: string | undefined }) {
  const [tried, setTried] = useState<{ of: Draft; records: Trace[] }>()
  const { run, isBusy, failure } = useAction()
  const streamId = isOfStream(draft.source) ? draft.source.config.stream_id : undefined
  async function tryIt(): Promise<void> {
    const processors = draft.processors.map(({ module_id, version, config }) => ({ module_id, config, ...(version ? { version } : {}) }))
    const { records } =
      id === undefined
        ? await post<TestSmartModuleResponse>('/smartmodules/test', { processors, stream_id: streamId, limit: TRIED })
        : await post<PreviewPipelineResponse>(`/pipelines/${id}/preview`, { processors: draft.processors, limit: TRIED })
    setTried({ of: draft, records })
  }
  // An answer may come when the draft is another one already.
  const traces = tried?.of.processors === draft.processors && tried.of.source === draft.source ? tried.records : undefined
  const isPossible = id !== undefined || (streamId !== undefined && draft.processors.length > 0)
  const missing = !isOfStream(draft.source)
    ? 'Possible once the pipeline is made.'
    : streamId
      ? 'Add a step first.'
      : 'Choose a stream first.'
  return (
    <section aria-labelledby="trial">
      <h2 id="trial">On real records</h2>
      <button type="button" disabled={isBusy || !isPossible} onClick={() => void run(tryIt)}>
        {isBusy ? 'Running…' : `Try on the newest ${TRIED}`}
      </button>{' '}
      <span class="quiet">{isPossible ? 'Nothing is written.' : missing}</span>
      <Refused failure={failure} />
      {traces && traces.length === 0 && <p class="quiet">The source has no records yet.</p>}
      {traces && traces.length > 0 && <Results traces={traces} />}
    </section>
  )
}

/** A pipeline as it was read: it is saved only where it is still that. */
type Known = { pipeline: Pipeline; tag: string }

type Names = Partial<ListStreamsResponse & ListConnectorsResponse & ListSmartModulesResponse>

/** As a manifest, which names things; undefined while one of them has no name that is known. */
function yamlOf(draft: Draft, { streams = [], connectors = [], modules = [] }: Names): string | undefined {
  const { name, description, source, processors, sink, tasks } = draft
  let isWhole = true
  const nameIn = (all: readonly { id: string; name: string }[], id: unknown): string | undefined => {
    const found = all.find((each) => each.id === id)?.name
    isWhole &&= found !== undefined
    return found
  }
  const endOf = ({ connector_id, config: { stream_id, ...others } }: Endpoint) =>
    isOfStream({ connector_id, config: {} })
      ? { stream: nameIn(streams, stream_id), ...others }
      : { connector: nameIn(connectors, connector_id), with: others }
  const pipeline = {
    ...(description === '' ? {} : { description }),
    source: endOf(source),
    steps: processors.map(({ module_id, config, ...others }) => ({ module: nameIn(modules, module_id), with: config, ...others })),
    sink: endOf(sink),
    ...(tasks === 1 ? {} : { tasks }),
  }
  return isWhole ? asYaml(name, { pipelines: { [name]: pipeline } }) : undefined
}

function Form({ first, known }: { first: Draft; known: Known | undefined }) {
  const pipeline = known?.pipeline
  const { route } = useLocation()
  const [draft, setDraft] = useState(first)
  const [planned, setPlanned] = useState<{ of: Draft; plan: PlanPipelineResponse }>()
  const { run, isBusy, failure } = useAction()
  const streams = useAll<ListStreamsResponse>('/streams')
  const connectors = useAll<ListConnectorsResponse>('/connectors')
  const modules = useAll<ListSmartModulesResponse>('/smartmodules')
  const secrets = useAll<ListSecretsResponse>(may('secrets:read') ? '/secrets' : null)
  useUnsaved(writeJson(draft) !== writeJson(first))
  const names = secrets.data?.secrets.map(({ name }) => name) ?? []
  /** The plan, if it is for the current draft: only a planned draft can be saved. */
  const plan = planned?.of === draft ? planned.plan : undefined
  const set = (change: Partial<Draft>): void => setDraft({ ...draft, ...change })
  const [sent, setSent] = useState<Draft>()
  /** What was refused of a member, as long as it is what was sent. */
  const faultsOf = (name: 'source' | 'processors' | 'sink') => (sent?.[name] === draft[name] ? within(failure?.details ?? [], name) : [])
  const path = `/pipelines/${pipeline?.id}`

  async function send(): Promise<void> {
    setSent(draft)
    if (!known) {
      const { pipeline_id } = await post<CreatePipelineResponse>('/pipelines', draft)
      return route(`${HOME.pathname}pipelines/${pipeline_id}`)
    }
    if (!plan) return setPlanned({ of: draft, plan: await post<PlanPipelineResponse>(`${path}/plan`, changeOf(first, draft)) })
    await patch(path, changeOf(first, draft), known.tag)
    route(`${HOME.pathname}pipelines/${known.pipeline.id}`)
  }

  const endpoint = (side: 'source' | 'sink') => (
    <EndpointForm
      side={side}
      value={draft[side]}
      streams={streams.data?.streams ?? []}
      connectors={connectors.data?.connectors ?? []}
      secrets={names}
      faults={faultsOf(side)}
      isFixed={pipeline !== undefined}
      onChange={(next) => set({ [side]: next })}
    />
  )
  return (
    <div class="columns">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void run(send)
        }}
      >
        <Field name="Name" fault={faultAt(failure, '/name')}>
          <input required value={draft.name} onInput={({ currentTarget }) => set({ name: currentTarget.value })} />
        </Field>
        <Field name="Description">
          <input value={draft.description} onInput={({ currentTarget }) => set({ description: currentTarget.value })} />
        </Field>
        {endpoint('source')}
        <StepsForm
          steps={draft.processors}
          modules={modules.data?.modules ?? []}
          secrets={names}
          faults={faultsOf('processors')}
          onChange={(processors) => set({ processors })}
        />
        {endpoint('sink')}
        <Field
          name="Tasks"
          hint="How many work on it at once; at most one for each partition of the source."
          fault={faultAt(failure, '/tasks')}
        >
          <input
            type="number"
            min="1"
            required
            value={draft.tasks}
            onInput={({ currentTarget }) => currentTarget.value !== '' && set({ tasks: Number(currentTarget.value) })}
          />
        </Field>
        <Refused failure={failure?.status === 412 ? undefined : failure} beside={['/name', '/tasks']} />
        {failure?.status === 412 && (
          <p class="refused" role="alert">
            Someone has changed the pipeline meanwhile.{' '}
            <button type="button" onClick={() => location.reload()}>
              Load it as it is now
            </button>
          </p>
        )}
        {plan && <Plan plan={plan} />}
        {!may('pipelines:write') && <p class="refused">Your role may look, but not make or change a pipeline.</p>}
        <button disabled={isBusy || !may('pipelines:write')}>
          {isBusy ? 'Working…' : pipeline ? (plan ? 'Save it' : 'Show what it changes') : 'Make the pipeline'}
        </button>
        <SameAs
          of={known ? 'curl' : 'curl, dps or YAML'}
          ways={() => {
            if (known) return { curl: asCurl([{ method: 'PATCH', path, body: changeOf(first, draft), ifMatch: known.tag }]) }
            needed(draft.name)
            const yaml = yamlOf(draft, { ...streams.data, ...connectors.data, ...modules.data })
            return {
              curl: asCurl([{ method: 'POST', path: '/pipelines', body: draft }]),
              ...(yaml === undefined ? {} : { dps: `# what YAML shows, as pipeline.yaml\ndps apply pipeline.yaml`, YAML: yaml }),
            }
          }}
        />
      </form>
      <Trial draft={draft} id={pipeline?.id} />
    </div>
  )
}

/** As the address has it; none where that is not an object of JSON. */
function configIn(text = ''): Record<string, unknown> {
  try {
    const config = parseAsWritten(text)
    return isObject(config) ? config : {}
  } catch {
    return {}
  }
}

/** With a source and a first step, where the address names a stream and a SmartModule. */
export function NewPipeline() {
  const { step, config, stream } = useLocation().query
  const [first] = useState<Draft>({
    ...NEW,
    ...(stream === undefined ? {} : { source: { connector_id: STREAM, config: { stream_id: stream } } }),
    ...(step === undefined ? {} : { processors: [{ module_id: step, config: configIn(config) }] }),
  })
  return (
    <>
      <Title text="New pipeline, in full">
        <a class="button second" href={`${HOME.pathname}start`}>
          From a few records instead
        </a>
      </Title>
      <Form first={first} known={undefined} />
    </>
  )
}

export function ChangePipeline({ id }: { id: string }) {
  const [known, setKnown] = useState<Known>()
  const { run, failure } = useAction()
  useEffect(
    () =>
      void run(async () => {
        const [pipeline, tag] = await getTagged<Pipeline>(`/pipelines/${id}`)
        setKnown({ pipeline, tag })
      }),
    [id],
  )
  return (
    <>
      <Title text={known ? `Change ${known.pipeline.name}` : 'Change a pipeline'}>
        <a class="button second" href={`${HOME.pathname}pipelines/${id}`}>
          Back to it
        </a>
      </Title>
      <Refused failure={failure} />
      {known && <Form key={known.tag} first={draftOf(known.pipeline)} known={known} />}
    </>
  )
}
