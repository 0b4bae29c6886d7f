/** A SmartModule in TypeScript: written here, run over real records as one writes, deployed when it does what it should. */
import { diffLines } from 'diff/lib/diff/line.js'
import { useLocation } from 'preact-iso'
import { useEffect, useRef, useState } from 'preact/hooks'
import { writeJson } from '../../../../clients/typescript/src/core/exact-json.ts'
import type {
  CompileSmartModuleResponse,
  DeploySmartModuleResponse,
  GetSmartModuleResponse,
  GetSmartModuleVersionResponse,
  ListSmartModulesResponse,
  ValueFormat,
} from '../../../../clients/typescript/src/generated/types.ts'
import { Failure, get, HOME, post, withQuery } from '../api.ts'
import { CodeEditor } from '../parts/code-editor.tsx'
import type { Schema } from '../parts/config-fields.tsx'
import { InPipelines } from '../parts/in-pipelines.tsx'
import { KeptTests } from '../parts/kept-tests.tsx'
import { Refused } from '../parts/failures.tsx'
import { Title } from '../parts/title.tsx'
import { Remove } from '../parts/remove.tsx'
import { SameAs } from '../parts/same-as.tsx'
import { SchemaForm, within } from '../parts/schema-form.tsx'
import { OnRecords, useTrial } from '../parts/trial.tsx'
import type { Tests } from '../parts/trial-records.tsx'
import { Versions } from '../parts/versions.tsx'
import { useStoredState } from '../stored-state.ts'
import { useAction, useQuery } from '../query.ts'
import { asCurl, asYaml, needed, quoted } from '../same-as.ts'
import { may, session } from '../session.ts'
import { useUnsaved } from '../unsaved.ts'

const FIRST = `import { Path, Record } from 'dps'

const amount = new Path('amount')

/** Keeps records whose amount is above 50. */
export function filter(record: Record): bool {
  return record.number(amount) > 50
}
`

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
function DeployedAs({ name, source, tests, isNew }: { name: string; source: Source; tests: Tests | undefined; isNew: boolean }) {
  const files = tests ? '# the code, as module.ts; its tests, as curl shows them, as tests.json' : '# the code, as module.ts'
  return (
    <SameAs
      of="curl, dps or YAML"
      ways={() => {
        needed(name)
        return {
          curl: asCurl([{ method: 'POST', path: '/smartmodules', body: { name, source, ...(tests ? { tests } : {}) } }]),
          dps: `${files}\ndps deploy module.ts --name=${quoted(name)}${tests ? ' --samples=tests.json' : ''}`,
          // One that there is already belongs to a set, or to none.
          ...(isNew
            ? {
                YAML: `${files}\n${asYaml(name, {
                  smartmodules: { [name]: { source: './module.ts', ...(tests ? { tests: './tests.json' } : {}) } },
                })}`,
              }
            : {}),
        }
      }}
    />
  )
}

type CodeProps = {
  version: string | undefined
  code: string
  onChange(next: string): void
  /** Where it is a draft from before. */
  onDiscard: (() => void) | undefined
  faults: Fault[]
  onRun(): void
}

function Code({ version, code, onChange, onDiscard, faults, onRun }: CodeProps) {
  const [chosen, setChosen] = useState<Fault>()
  return (
    <>
      {onDiscard && <Draft version={version} onDiscard={onDiscard} />}
      <CodeEditor value={code} onChange={onChange} onRun={onRun} onSave={onRun} marks={faults} goTo={chosen} />
      <p class="quiet">
        {mayTry() ? 'Ctrl-S or Ctrl-Enter runs it. ' : 'Your role may look, but not run or deploy code. '}A draft and its config stay in
        this browser.{' '}
        <a href={new URL('../docs/sdk.html', HOME).href} target="_blank">
          What sources can use
        </a>
      </p>
      {faults.length > 0 && <Faults faults={faults} onChosen={(fault) => setChosen({ ...fault })} />}
    </>
  )
}

type DeployProps = {
  known: GetSmartModuleResponse | undefined
  code: string
  name: string
  onName(next: string): void
  tests: Tests
  onTests(next: Tests): void
  isReady: boolean
  onDeploy(): void
}

function DeployForm({ known, code, name, onName, tests, onTests, isReady, onDeploy }: DeployProps) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onDeploy()
      }}
    >
      <KeptTests tests={tests} onChange={onTests} />
      <div class="line">
        <label>
          Name <input required value={name} readOnly={known !== undefined} onInput={({ currentTarget }) => onName(currentTarget.value)} />
        </label>
        {known?.source && <CodeChange before={known.source.code} after={code} version={known.version} />}
        <button disabled={!isReady}>{known ? 'Deploy the next version' : 'Deploy'}</button>
      </div>
    </form>
  )
}

/** Throws where a SmartModule has the name: another member's code would get a next version that has nothing to do with it. */
async function assertFree(name: string): Promise<void> {
  const { modules } = await get<ListSmartModulesResponse>(withQuery('/smartmodules', { name }))
  if (modules.some((each) => each.name === name))
    throw new Failure(
      409,
      'conflict',
      `A SmartModule named ${name} exists already: open it to make its next version, or choose another name.`,
    )
}

function Workbench({ known, onDeployed }: { known: GetSmartModuleResponse | undefined; onDeployed(): void }) {
  const { route, query } = useLocation()
  const isCode = known === undefined || (known.source !== undefined && !known.built_in)
  const first = known?.source?.code ?? FIRST
  const { code, setCode, forget, isOld } = useDraft(known?.id, first)
  const newName = useStoredState('name-new', '')
  const name = known?.name ?? newName.value
  const [faults, setFaults] = useState<Fault[]>([])
  const [parameters, setParameters] = useState<Schema>()
  const { run, isBusy, failure } = useAction()
  const version = useQuery<GetSmartModuleVersionResponse>(known && isCode ? `/smartmodules/${known.id}/versions/${known.version}` : null)
  const [edited, setEdited] = useState<Tests>()
  useUnsaved(edited !== undefined)
  const kept = edited ?? version.data?.tests ?? []
  const trial = useTrial(known, kept)
  const source: Source = { language: 'typescript', code }
  const configForm = useRef<HTMLFormElement>(null)
  const mayRun = !isCode || mayTry()

  async function tryIt(): Promise<void> {
    if (!mayRun || configForm.current?.reportValidity() === false) return
    setFaults([])
    trial.forget()
    if (isCode) {
      const compiled = await post<CompileSmartModuleResponse>('/smartmodules/compile', { source })
      setFaults(compiled.details)
      if (compiled.details.length > 0) return
      setParameters(compiled.parameters as Schema | undefined)
    }
    const own = isCode ? { source, ...formatsOf(known) } : { module_id: known.id }
    if (trial.isReady) await trial.run({ ...own, config: trial.config })
  }

  async function deploy(): Promise<void> {
    if (!known) await assertFree(name)
    const { id } = await post<DeploySmartModuleResponse>('/smartmodules', { name, source, ...(edited ? { tests: edited } : {}) })
    forget()
    setEdited(undefined)
    if (known) return onDeployed()
    newName.keep(undefined)
    trial.forgetConfig()
    route(withQuery(`${HOME.pathname}smartmodules/${id}`, query))
  }

  const at = `/processors/${trial.step}/config`
  return (
    <div class="columns">
      <section aria-label="What it does">
        {isCode && (
          <Code
            version={known?.version}
            code={code}
            onChange={setCode}
            onDiscard={isOld ? () => setCode(first) : undefined}
            faults={faults}
            onRun={() => void run(tryIt)}
          />
        )}
        <form
          ref={configForm}
          onSubmit={(event) => {
            event.preventDefault()
            void run(tryIt)
          }}
        >
          <SchemaForm
            key={trial.begun}
            schema={parameters ?? (known?.config.parameters as Schema | undefined) ?? {}}
            value={trial.config}
            faults={within(failure?.details ?? [], at.slice(1))}
            onChange={trial.setConfig}
          />
        </form>
        <Refused failure={failure} beside={[at]} />
        {known && may('pipelines:write') && (
          <p class="actions">
            <a
              class="button second"
              href={withQuery(`${HOME.pathname}pipelines/new`, {
                step: known.id,
                config: writeJson(trial.config),
                stream: trial.streamId,
              })}
            >
              Use it in a pipeline
            </a>
          </p>
        )}
        {isCode && mayTry() && (
          <DeployForm
            known={known}
            code={code}
            name={name}
            onName={newName.keep}
            tests={kept}
            onTests={setEdited}
            isReady={!isBusy && (code !== known?.source?.code || edited !== undefined)}
            onDeploy={() => void run(deploy)}
          />
        )}
        {isCode && mayTry() && <DeployedAs name={name} source={source} tests={edited} isNew={!known} />}
        {known && may('pipelines:read') && <InPipelines module={known} pipelines={trial.pipelines} />}
        {known && <Versions key={known.version} id={known.id} onCode={isCode ? setCode : undefined} />}
      </section>
      <OnRecords
        trial={trial}
        kept={kept}
        isBusy={isBusy}
        mayRun={mayRun}
        onRun={() => void run(tryIt)}
        onKeep={isCode && mayTry() ? setEdited : undefined}
      />
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
      {known.data && <Workbench key={id} known={known.data} onDeployed={known.refresh} />}
    </>
  )
}
