/** A SmartModule in TypeScript: written here, run over real records as one writes, deployed when it does what it should. */
import { diffLines } from 'diff/lib/diff/line.js'
import { useLocation } from 'preact-iso'
import { useEffect, useRef, useState } from 'preact/hooks'
import type {
  CompileSmartModuleResponse,
  DeploySmartModuleResponse,
  GetSmartModuleResponse,
  ListSmartModulesResponse,
  ListStreamsResponse,
  TestSmartModuleResponse,
  Trace,
  ValueFormat,
} from '../../../../clients/typescript/src/generated/types.ts'
import { Failure, get, HOME, post, withQuery } from '../api.ts'
import { CodeEditor } from '../parts/code-editor.tsx'
import { faultAt, Field, Refused, Title } from '../parts/parts.tsx'
import { Results } from '../parts/results.tsx'
import { Remove } from '../parts/remove.tsx'
import { useAction, useAll, useQuery } from '../query.ts'
import { may, session } from '../session.ts'
import { asCurl, asYaml, needed, quoted } from '../same-as.ts'
import { jsonAt } from '../typed.ts'
import { SameAs } from '../parts/same-as.tsx'
import { Versions } from '../parts/versions.tsx'

const FIRST = `import { Path, Record } from 'dps'

const amount = new Path('amount')

/** Keeps records whose amount is above 50. */
export function filter(record: Record): bool {
  return record.number(amount) > 50
}
`
const LAST_RECORDS = 20

type Fault = CompileSmartModuleResponse['details'][number]

/** What differs from `first` is kept in this browser, for this member: neither an ended session nor a closed tab loses it. */
function useDraft(id: string | undefined, first: string) {
  const key = `dps-draft-${session.value?.member?.id}-${id ?? 'new'}`
  const [found, setFound] = useState(() => localStorage.getItem(key))
  const [code, setText] = useState(found ?? first)
  const before = useRef(first)
  useEffect(() => {
    // Another version has come, and nothing was written here.
    if (code === before.current) setText(first)
    before.current = first
  }, [first])
  const forget = (): void => {
    setFound(null)
    localStorage.removeItem(key)
  }
  const setCode = (next: string): void => {
    setText(next)
    if (next === first) forget()
    else localStorage.setItem(key, next)
  }
  /** `isOld`: it was written before this page was opened. */
  return { code, setCode, forget, isOld: found !== null && code !== first }
}

function Faults({ faults, onChosen }: { faults: Fault[]; onChosen(fault: Fault): void }) {
  return (
    <ul class="refused" role="alert">
      {faults.map((fault) => (
        <li key={fault.message + String(fault.line)}>
          {fault.line === undefined ? (
            fault.message
          ) : (
            <button type="button" class="plain" onClick={() => onChosen(fault)}>
              line {fault.line}:{fault.column}
            </button>
          )}{' '}
          {fault.line !== undefined && fault.message}
        </li>
      ))}
    </ul>
  )
}

/** The lines that a deploy would change. */
function CodeChange({ before, after, version }: { before: string; after: string; version: string }) {
  const parts = diffLines(before, after)
  if (!parts.some(({ added, removed }) => added || removed)) return <p class="quiet">The same as version {version}.</p>
  return (
    <details>
      <summary>What differs from version {version}</summary>
      <pre tabIndex={0} aria-label={`What differs from version ${version}`}>
        {parts.map(({ added, removed, value }, index) => (
          <span key={index} class={added ? 'is' : removed ? 'was' : 'quiet'}>
            {value
              .replace(/\n$/, '')
              .split('\n')
              .map((line) => `${added ? '+' : removed ? '-' : ' '} ${line}\n`)
              .join('')}
          </span>
        ))}
      </pre>
    </details>
  )
}

type Formats = { input_format?: ValueFormat; output_format?: ValueFormat }

/** The formats that the next version will have: a trial knows no version before. */
function formatsOf(known: GetSmartModuleResponse | undefined): Formats {
  const { input_format, output_format } = (known?.config ?? {}) as Formats
  return { ...(input_format ? { input_format } : {}), ...(output_format ? { output_format } : {}) }
}

type Source = { language: 'typescript'; code: string }

/** Running code that is not deployed takes the right to deploy it. */
const mayTry = () => may('smartmodules:write')

function Draft({ version, onDiscard }: { version: string | undefined; onDiscard(): void }) {
  return (
    <p role="status">
      Your draft, not {version === undefined ? 'the example' : `version ${version}`}.{' '}
      <button type="button" class="plain" onClick={onDiscard}>
        discard
      </button>
    </p>
  )
}

/** The deployment by other ways. */
function DeployedAs({ name, source, isNew }: { name: string; source: Source; isNew: boolean }) {
  return (
    <SameAs
      of="curl, dps or YAML"
      ways={() => {
        needed(name)
        return {
          curl: asCurl([{ method: 'POST', path: '/smartmodules', body: { name, source } }]),
          dps: `# the code, as module.ts\ndps deploy module.ts --name=${quoted(name)}`,
          // One that there is already belongs to a set, or to none.
          ...(isNew ? { YAML: `# the code, as module.ts\n${asYaml(name, { smartmodules: { [name]: { source: './module.ts' } } })}` } : {}),
        }
      }}
    />
  )
}

function Workbench({ known, onDeployed }: { known: GetSmartModuleResponse | undefined; onDeployed(): void }) {
  const { route } = useLocation()
  const first = known?.source?.code ?? FIRST
  const { code, setCode, forget, isOld } = useDraft(known?.id, first)
  const [config, setConfig] = useState('{}')
  const [name, setName] = useState(known?.name ?? '')
  const [streamId, setStreamId] = useState('')
  const [faults, setFaults] = useState<Fault[]>([])
  const [traces, setTraces] = useState<Trace[]>()
  const streams = useAll<ListStreamsResponse>('/streams')
  const { run, isBusy, failure } = useAction()
  const [chosen, setChosen] = useState<Fault>()
  const source: Source = { language: 'typescript', code }

  useEffect(() => {
    const first = streams.data?.streams[0]
    if (streamId === '' && first) setStreamId(first.id)
  }, [streams.data])

  async function tryIt(): Promise<void> {
    if (!mayTry()) return
    setFaults([])
    const { details } = await post<CompileSmartModuleResponse>('/smartmodules/compile', { source })
    setFaults(details)
    setTraces(undefined)
    if (details.length > 0 || streamId === '') return
    const { records } = await post<TestSmartModuleResponse>('/smartmodules/test', {
      processors: [{ source, ...formatsOf(known), config: jsonAt('/processors/0/config', config) }],
      stream_id: streamId,
      from: 'latest',
      limit: LAST_RECORDS,
    })
    setTraces(records)
  }

  async function deploy(): Promise<void> {
    // Another member's code would get a next version that has nothing to do with it.
    if (!known && (await get<ListSmartModulesResponse>(withQuery('/smartmodules', { name }))).modules.some((each) => each.name === name))
      throw new Failure(
        409,
        'conflict',
        `A SmartModule named ${name} exists already: open it to make its next version, or choose another name.`,
      )
    const { id } = await post<DeploySmartModuleResponse>('/smartmodules', { name, source })
    forget()
    if (known) onDeployed()
    else route(`${HOME.pathname}smartmodules/${id}`)
  }

  return (
    <div class="columns">
      <section aria-label="What it does">
        {isOld && <Draft version={known?.version} onDiscard={() => setCode(first)} />}
        <CodeEditor
          value={code}
          onChange={setCode}
          onRun={() => void run(tryIt)}
          onSave={() => void run(tryIt)}
          marks={faults}
          goTo={chosen}
        />
        <p class="quiet">
          {mayTry() ? 'Ctrl-S or Ctrl-Enter runs it. ' : 'Your role may look, but not run or deploy code. '}A draft stays in this browser.{' '}
          <a href={new URL('../docs/sdk.html', HOME).href} target="_blank">
            What sources can use
          </a>
        </p>
        {faults.length > 0 && <Faults faults={faults} onChosen={(fault) => setChosen({ ...fault })} />}
        <Field name="Config" hint="JSON, as a step of a pipeline gets it." fault={faultAt(failure, '/processors/0/config')}>
          <textarea rows={3} spellcheck={false} value={config} onInput={({ currentTarget }) => setConfig(currentTarget.value)} />
        </Field>
        <Refused failure={failure} beside={['/processors/0/config']} />
        {mayTry() && (
          <form
            class="line"
            onSubmit={(event) => {
              event.preventDefault()
              void run(deploy)
            }}
          >
            <label>
              Name{' '}
              <input required value={name} readOnly={known !== undefined} onInput={({ currentTarget }) => setName(currentTarget.value)} />
            </label>
            {known?.source && <CodeChange before={known.source.code} after={code} version={known.version} />}
            <button disabled={isBusy || code === known?.source?.code}>{known ? 'Deploy the next version' : 'Deploy'}</button>
          </form>
        )}
        {mayTry() && <DeployedAs name={name} source={source} isNew={!known} />}
        {known && <Versions key={known.version} id={known.id} onCode={setCode} />}
      </section>
      <section aria-label="Real records">
        <div class="line">
          <label>
            Newest records of{' '}
            <select value={streamId} onChange={({ currentTarget }) => setStreamId(currentTarget.value)}>
              {streams.data?.streams.map(({ id, name: each }) => (
                <option key={id} value={id}>
                  {each}
                </option>
              ))}
            </select>
          </label>
          <button type="button" disabled={isBusy || !mayTry()} onClick={() => void run(tryIt)}>
            {isBusy ? 'Running…' : 'Run'}
          </button>
        </div>
        {traces && traces.length === 0 && <p class="quiet">The stream has no records yet.</p>}
        {traces && traces.length > 0 && <Results traces={traces} />}
      </section>
    </div>
  )
}

export function Editor({ id }: { id: string }) {
  const { route } = useLocation()
  const isNew = id === 'new'
  const known = useQuery<GetSmartModuleResponse>(isNew ? null : `/smartmodules/${id}`)
  if (isNew)
    return (
      <>
        <Title text="New SmartModule" />
        <Workbench known={undefined} onDeployed={() => {}} />
      </>
    )
  return (
    <>
      <Title text={known.data?.name ?? 'SmartModule'}>
        {known.data && <span class="quiet">version {known.data.version}</span>}
        {known.data && may('pipelines:write') && (
          <a class="button second" href={`${HOME.pathname}pipelines/new?step=${id}`}>
            Use it in a pipeline
          </a>
        )}
        {known.data?.built_in === false && (
          <Remove
            what="delete"
            scope="smartmodules:write"
            path={`/smartmodules/${id}`}
            onDone={() => route(`${HOME.pathname}smartmodules`)}
          />
        )}
      </Title>
      <Refused failure={known.failure} />
      {known.data?.description && <p>{known.data.description}</p>}
      {known.data && (known.data.source === undefined || known.data.built_in) && (
        <p class="quiet">
          {known.data.built_in ? 'It is built in: its code can’t be changed.' : 'It was deployed as a binary: its code is not here.'}
        </p>
      )}
      {known.data && (known.data.source === undefined || known.data.built_in) && <Versions id={id} onCode={undefined} />}
      {known.data?.source && !known.data.built_in && <Workbench key={id} known={known.data} onDeployed={known.refresh} />}
    </>
  )
}
