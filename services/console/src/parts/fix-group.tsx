/** The records of one group of dead letters: a change of the step is tried on them before it is saved, and proven by their redrive. */
import type { ComponentChild } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { writeJson } from '../../../../clients/typescript/src/core/exact-json.ts'
import type {
  DeadLetter,
  ListDeadLettersResponse,
  ListSmartModuleVersionsResponse,
  Pipeline,
  PreviewPipelineResponse,
  RedriveDeadLetters200Response,
  RedriveDeadLetters202Response,
} from '../../../../clients/typescript/src/generated/types.ts'
import { Failure, getTagged, HOME, patch, post, withQuery } from '../api.ts'
import { count } from '../format.ts'
import { useAction, useQuery } from '../query.ts'
import { glimpse } from '../records.ts'
import { asCurl, operand, quoted } from '../same-as.ts'
import { may } from '../session.ts'
import { stepsOf } from '../steps.ts'
import { useUnsaved } from '../unsaved.ts'
import { JobProgress } from './job-progress.tsx'
import { Badge } from './badge.tsx'
import { Loaded, Refused } from './failures.tsx'
import { Table } from './table.tsx'
import { SameAs } from './same-as.tsx'
import { within } from './schema-form.tsx'
import { StepConfig } from './step-config.tsx'
import { lettersOf } from './trial-records.tsx'

/** The chain with another config and version of one step, as a request takes it. */
const processorsWith = (pipeline: Pipeline, step: number, config: unknown, version: string) =>
  stepsOf(pipeline).map((own, index) => (index === step - 1 ? { ...own, version, config } : own))

function Tried({ traces }: { traces: PreviewPipelineResponse['records'] }) {
  return (
    <Table label="What would become of them" columns={['Record', 'Was', 'Would be', 'Becomes']}>
      {traces.map((trace) => {
        const error = trace.steps.find((step) => step.error)?.error
        return (
          <tr key={`${trace.partition}:${trace.offset}`}>
            <th scope="row">
              {trace.partition}:{trace.offset}
            </th>
            <td>
              <code>{trace.dead_letter?.error.code}</code>
            </td>
            <td>
              <Badge text={trace.outcome} /> {error && <code>{error.code}</code>}
            </td>
            <td class="value">{trace.outputs.map((out) => glimpse(out.value)).join(' ') || error?.message}</td>
          </tr>
        )
      })}
    </Table>
  )
}

/** `end`: what a list of redriven ones adds. */
export const letterRow = (pipelineId: string, { id, partition, offset, value, error, redrives }: DeadLetter, end?: ComponentChild) => (
  <tr key={id}>
    <th scope="row">
      <a href={`${HOME.pathname}pipelines/${pipelineId}/records/${partition}/${offset}`}>
        {partition}:{offset}
      </a>
    </th>
    <td class="value">{glimpse(value)}</td>
    <td>
      {error.message}
      {redrives > 0 && <small>failed again in redrive {redrives}</small>}
    </td>
    {end}
  </tr>
)

export const LETTER_COLUMNS = ['Record', 'Value', 'Why']

function Letters({ pipelineId, letters }: { pipelineId: string; letters: DeadLetter[] }) {
  return (
    <Table label="Records of the group" columns={LETTER_COLUMNS}>
      {letters.map((letter) => letterRow(pipelineId, letter))}
    </Table>
  )
}

/** A group's parts, read from the address: where a sink refused the records, there is no module or version. */
const partsOf = (group: string) => {
  // An account's own SmartModule may have the separator in its name.
  const [, step = '1', module = '', version = '', code = '', pattern] =
    /^(\d+)\|([^\n]*)\|([^|\n]*)\|([^|\n]*)(?:\n([^]*))?$/.exec(group) ?? []
  return { step: Number(step), module, version, code, pattern }
}

type Group = ReturnType<typeof partsOf>

/** As lists and redrives take it. */
const filterOf = ({ step, module, version, code, pattern }: Group) => ({ step, module, version, error: code, pattern })

type Running = Pipeline['processors'][number]

/** An account's own SmartModule may be mended in its code, which makes another version. */
function OtherVersion({
  pipelineId,
  running,
  version,
  onChoose,
}: {
  pipelineId: string
  running: Running
  version: string
  onChoose(version: string): void
}) {
  const versions =
    useQuery<ListSmartModuleVersionsResponse>(`/smartmodules/${running.module_id}/versions?page_size=100`).data?.versions ?? []
  return (
    <p class="line">
      <label>
        Version{' '}
        <select value={version} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
          {[...new Set([running.version, ...versions.map((each) => each.version)])].map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <a href={`${HOME.pathname}smartmodules/${running.module_id}?records=${lettersOf(pipelineId)}`}>Edit it beside these records</a>
    </p>
  )
}

type FixProps = {
  pipeline: Pipeline
  group: Group
  letters: DeadLetter[]
  /** They have left the group. */
  isEmpty: boolean
  /** Whether there is something to save. */
  onEdited(isChanged: boolean): void
  onChanged(revision: number): void
}

/** Tries a config on the group's own records, and saves it as the next revision once it was tried as it is. */
function Fix({ pipeline, group: { step }, letters, isEmpty, onEdited, onChanged }: FixProps) {
  const running = pipeline.processors[step - 1]!
  const [config, setConfig] = useState(running.config)
  const text = writeJson(config)
  const [answer, setAnswer] = useState<{ text: string; version: string; traces: PreviewPipelineResponse['records'] }>()
  const [version, setVersion] = useState(running.version)
  const isChanged = text !== writeJson(running.config) || version !== running.version
  useUnsaved(isChanged)
  useEffect(() => onEdited(isChanged), [isChanged])
  /** Only results for the step as it is now: an answer may come after another edit. */
  const { traces } = answer?.text === text && answer.version === version ? answer : {}
  const { run, isBusy, failure } = useAction()
  const [isSaving, setIsSaving] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const at = `/processors/${step - 1}/config`
  /** The pipeline's ETag, once the commands are shown. */
  const [tag, setTag] = useState<string>()

  async function tryIt(): Promise<void> {
    setIsSaving(false)
    const processors = processorsWith(pipeline, step, config, version)
    const asked = { processors, dead_letters: { ids: letters.map(({ id }) => id) }, limit: letters.length }
    setAnswer({ text, version, traces: (await post<PreviewPipelineResponse>(`/pipelines/${pipeline.id}/preview`, asked)).records })
  }

  async function save(): Promise<void> {
    setIsSaving(true)
    const [now, current] = await getTagged<Pipeline>(`/pipelines/${pipeline.id}`)
    if (now.revision !== pipeline.revision || current === '')
      throw new Failure(409, 'conflict', `the pipeline has got revision ${now.revision} meanwhile: look at it, then try again`)
    const { revision } = await patch<Pipeline>(
      `/pipelines/${pipeline.id}`,
      { processors: processorsWith(now, step, config, version) },
      current,
    )
    onChanged(revision)
  }

  return (
    <form
      ref={form}
      class="fix"
      onSubmit={(event) => {
        event.preventDefault()
        void run(tryIt)
      }}
    >
      <h3>
        Config of {running.name} {running.version}
      </h3>
      <p class="quiet">Tried on these records; nothing is written.</p>
      <StepConfig
        moduleId={running.module_id}
        version={version}
        value={config}
        onChange={setConfig}
        faults={within(failure?.details ?? [], at.slice(1))}
      />
      {!running.name.startsWith('dps/') && (
        <OtherVersion pipelineId={pipeline.id} running={running} version={version} onChoose={setVersion} />
      )}
      <div class="actions">
        <button disabled={isBusy}>
          {isBusy && !isSaving ? 'Trying…' : `Try on ${letters.length} ${isEmpty ? 'that were in it' : 'of them'}`}
        </button>
        <button type="button" disabled={isBusy || !isChanged || !traces} onClick={() => form.current?.reportValidity() && void run(save)}>
          Save as the next revision
        </button>
        <span class="quiet">
          {!isChanged ? 'Change something first.' : traces ? 'A canary, if one runs, ends with it.' : 'Try the change first.'}
        </span>
      </div>
      <Refused failure={failure} beside={[at]} />
      <SameAs
        onOpen={() =>
          void getTagged(`/pipelines/${pipeline.id}`).then(
            ([, current]) => setTag(current),
            () => {},
          )
        }
        ways={() => ({
          curl: asCurl([
            {
              method: 'PATCH',
              path: `/pipelines/${pipeline.id}`,
              body: { processors: processorsWith(pipeline, step, config, version) },
              ...(tag === undefined ? {} : { ifMatch: tag }),
            },
          ]),
        })}
      />
      {traces && <Tried traces={traces} />}
      {traces && traces.length < letters.length && <p class="quiet">{letters.length - traces.length} more were not run.</p>}
    </form>
  )
}

/** The filter as `dps dlq redrive` takes it. */
const optionsOf = ({ step, module, version, code, pattern }: Group): string =>
  [
    ['step', step],
    ['module', module && `${module}@${version}`],
    ['error', code],
    ['pattern', pattern],
  ]
    .map(([option, value]) => value && ` --${option}=${quoted(`${value}`)}`)
    .join('')

type RedriveProps = { path: string; pipeline: Pipeline; group: Group; isEmpty: boolean; isEdited: boolean; onDone(): void }

function Redrive({ path, pipeline: { name, revision }, group, isEmpty, isEdited, onDone }: RedriveProps) {
  const [job, setJob] = useState<RedriveDeadLetters202Response>()
  const [dryRun, setDryRun] = useState<number>()
  const { run, isBusy, failure } = useAction()
  async function redrive(isDryRun: boolean): Promise<void> {
    const answer = await post<RedriveDeadLetters200Response | RedriveDeadLetters202Response>(`${path}/redrive`, {
      filter: filterOf(group),
      dry_run: isDryRun,
    })
    setDryRun(isDryRun ? answer.count : undefined)
    if ('job_id' in answer) setJob(answer)
  }
  return (
    <>
      <div class="actions">
        <button type="button" disabled={isBusy || isEmpty} onClick={() => void run(() => redrive(true))}>
          Count what a redrive takes
        </button>
        <button type="button" disabled={isBusy || dryRun === undefined} onClick={() => void run(() => redrive(false))}>
          Redrive{dryRun !== undefined && ` ${count(dryRun)}`}
        </button>
        <span class="quiet">
          {dryRun === undefined && (isEmpty ? 'No record is pending.' : 'Count them first.')}{' '}
          {isEdited && `It goes through revision ${revision}, without the change.`}
        </span>
      </div>
      <Refused failure={failure} />
      <SameAs
        of="curl or dps"
        ways={() => ({
          curl: asCurl([{ method: 'POST', path: `${path}/redrive`, body: { filter: filterOf(group), dry_run: dryRun === undefined } }]),
          dps: `dps dlq redrive${optionsOf(group)} ${dryRun === undefined ? '--dry-run' : '--wait'} ${operand(name)}`,
        })}
      />
      {job && <JobProgress key={job.job_id} jobId={job.job_id} onDone={onDone} />}
    </>
  )
}

export function FixGroup({ pipeline, group: name, onChanged }: { pipeline: Pipeline; group: string; onChanged(): void }) {
  /** The revision that was saved here. */
  const [saved, setSaved] = useState<number>()
  const [isEdited, setIsEdited] = useState(false)
  const group = partsOf(name)
  const path = `/pipelines/${pipeline.id}/dead-letters`
  const letters = useQuery<ListDeadLettersResponse>(
    // `withQuery` leaves out an empty module, which is the sink's.
    `${withQuery(path, { ...filterOf(group), status: 'pending', sort: '-failed_at', page_size: 20 })}${group.module === '' ? '&module=' : ''}`,
    5000,
  )
  const found = letters.data?.dead_letters
  /** What is written stays when the last of them leaves the list. */
  const tried = useRef<DeadLetter[]>([])
  if (found && found.length > 0) tried.current = found
  const table = useMemo(() => found && <Letters pipelineId={pipeline.id} letters={found} />, [found])
  const running = pipeline.processors[group.step - 1]
  return (
    <section aria-labelledby="fix">
      <h2 id="fix">
        <code>{group.code}</code> in {group.module === '' ? 'the sink' : `step ${group.step}, ${group.module} ${group.version}`}
      </h2>
      <Loaded query={letters}>
        {({ dead_letters, total }) => (
          <>
            {table}
            {dead_letters.length === 0 && <p class="quiet">None of this group is pending any more.</p>}
            {total > dead_letters.length && (
              <p class="quiet">
                the newest {dead_letters.length} of {count(total)}
              </p>
            )}
            {may('pipelines:write') && tried.current.length > 0 && running?.name === group.module && (
              <Fix
                key={pipeline.revision}
                pipeline={pipeline}
                group={group}
                letters={tried.current}
                isEmpty={dead_letters.length === 0}
                onEdited={setIsEdited}
                onChanged={(revision) => (setSaved(revision), onChanged())}
              />
            )}
            {may('pipelines:write') && dead_letters.length > 0 && group.module !== '' && running?.name !== group.module && (
              <p class="quiet">The pipeline runs another SmartModule in this step now.</p>
            )}
          </>
        )}
      </Loaded>
      {saved !== undefined && (
        <p role="status" class="good">
          Saved as revision {saved}: a redrive of these records goes through it.
        </p>
      )}
      {may('pipelines:write') && (
        <Redrive
          path={path}
          pipeline={pipeline}
          group={group}
          isEmpty={found?.length === 0}
          isEdited={isEdited}
          onDone={() => (letters.refresh(), onChanged())}
        />
      )}
    </section>
  )
}
