/** The records of one group of dead letters: a change of the step is tried on them before it is saved, and proven by their redrive. */
import { useState } from 'preact/hooks'
import { parseJson, writeJson } from '../../../../clients/typescript/src/core/exact-json.ts'
import type {
  DeadLetter,
  ListDeadLettersResponse,
  Pipeline,
  PreviewPipelineResponse,
  RedriveDeadLetters200Response,
  RedriveDeadLetters202Response,
  Trace,
} from '../../../../clients/typescript/src/generated/types.ts'
import { HOME, patch, post, withQuery } from '../api.ts'
import { count } from '../format.ts'
import { useAction, useQuery } from '../query.ts'
import { glimpse } from '../records.ts'
import { may } from '../session.ts'
import { JobProgress } from './job-progress.tsx'
import { Badge, Field, Loaded, Refused } from './parts.tsx'

/** A change is tried on so many records. */
const TRIED = 5

/** The chain with another config of one step, as a request takes it. */
const processorsWith = (pipeline: Pipeline, step: number, config: unknown) =>
  pipeline.processors.map(({ module_id, version, config: own, on_error, timeout_ms, changes_keys }, index) => ({
    module_id,
    version,
    config: index === step - 1 ? config : own,
    on_error,
    timeout_ms,
    changes_keys,
  }))

function Tried({ letters, traces }: { letters: DeadLetter[]; traces: Trace[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Record</th>
          <th scope="col">Was</th>
          <th scope="col">Would be</th>
          <th scope="col">Delivered as</th>
        </tr>
      </thead>
      <tbody>
        {traces.map((trace) => {
          const letter = letters.find(({ partition, offset }) => partition === trace.partition && offset === trace.offset)
          const error = trace.steps.find((step) => step.error)?.error
          return (
            <tr key={`${trace.partition}:${trace.offset}`}>
              <th scope="row">
                {trace.partition}:{trace.offset}
              </th>
              <td>
                <code>{letter?.error.code}</code>
              </td>
              <td>
                <Badge text={trace.outcome} /> {error && <code>{error.code}</code>}
              </td>
              <td class="value">{trace.outputs.map((out) => glimpse(out.value)).join(' ') || error?.message}</td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

function Letters({ pipelineId, letters }: { pipelineId: string; letters: DeadLetter[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Records of the group">
      <table>
        <thead>
          <tr>
            <th scope="col">Record</th>
            <th scope="col">Value</th>
            <th scope="col">Why</th>
          </tr>
        </thead>
        <tbody>
          {letters.map((letter) => (
            <tr key={letter.id}>
              <th scope="row">
                <a href={`${HOME.pathname}pipelines/${pipelineId}/records/${letter.partition}/${letter.offset}`}>
                  {letter.partition}:{letter.offset}
                </a>
              </th>
              <td class="value">{glimpse(letter.value)}</td>
              <td>{letter.error.message}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export function FixGroup({ pipeline, group, onChanged }: { pipeline: Pipeline; group: string; onChanged(): void }) {
  const [step = '1', version, code] = group.split('/')
  const index = Number(step)
  const path = `/pipelines/${pipeline.id}/dead-letters`
  const letters = useQuery<ListDeadLettersResponse>(
    withQuery(path, { step, version, error: code, status: 'pending', sort: '-failed_at', page_size: 20 }),
    5000,
  )
  const running = pipeline.processors[index - 1]
  const [text, setText] = useState(() => writeJson(running?.config ?? {}, 2))
  const [traces, setTraces] = useState<Trace[]>()
  const [job, setJob] = useState<RedriveDeadLetters202Response>()
  const [dryRun, setDryRun] = useState<number>()
  const { run, isBusy, failure } = useAction()
  const isChanged = running !== undefined && text !== writeJson(running.config, 2)
  const filter = { step: index, version, error: code }

  async function tryIt(found: DeadLetter[]): Promise<void> {
    const processors = processorsWith(pipeline, index, parseJson(text))
    const answers = await Promise.all(
      found.slice(0, TRIED).map(({ partition, offset }) =>
        post<PreviewPipelineResponse>(`/pipelines/${pipeline.id}/preview`, {
          processors,
          from: { offsets: { [partition]: offset } },
          partition,
          limit: 1,
        }),
      ),
    )
    setTraces(answers.flatMap(({ records }) => records))
  }

  async function save(): Promise<void> {
    await patch(`/pipelines/${pipeline.id}`, { processors: processorsWith(pipeline, index, parseJson(text)) })
    onChanged()
  }

  async function redrive(isDryRun: boolean): Promise<void> {
    const answer = await post<RedriveDeadLetters200Response | RedriveDeadLetters202Response>(`${path}/redrive`, {
      filter,
      dry_run: isDryRun,
    })
    setDryRun(isDryRun ? answer.count : undefined)
    if ('job_id' in answer) setJob(answer)
  }

  return (
    <section aria-labelledby="fix">
      <h2 id="fix">
        <code>{code}</code> in step {step}
      </h2>
      <Loaded query={letters}>
        {({ dead_letters: found, total }) => (
          <>
            <Letters pipelineId={pipeline.id} letters={found} />
            {found.length === 0 && <p class="quiet">None of this group is pending any more.</p>}
            {total > found.length && (
              <p class="quiet">
                the newest {found.length} of {count(total)}
              </p>
            )}
            {may('pipelines:write') && (
              <div class="fix">
                {running && found.length > 0 && (
                  <>
                    <Field name={`Config of ${running.name} ${running.version}`} hint="Tried on these records; nothing is written.">
                      <textarea
                        rows={Math.min(20, text.split('\n').length + 1)}
                        spellcheck={false}
                        value={text}
                        onInput={({ currentTarget }) => setText(currentTarget.value)}
                      />
                    </Field>
                    <div class="actions">
                      <button type="button" disabled={isBusy} onClick={() => void run(() => tryIt(found))}>
                        Try on {Math.min(TRIED, found.length)} of them
                      </button>
                      <button type="button" disabled={isBusy || !isChanged || !traces} onClick={() => void run(save)}>
                        Save as the next revision
                      </button>
                    </div>
                  </>
                )}
                {traces && <Tried letters={found} traces={traces} />}
                <div class="actions">
                  <button type="button" disabled={isBusy || found.length === 0} onClick={() => void run(() => redrive(true))}>
                    Count what a redrive takes
                  </button>
                  <button type="button" disabled={isBusy || dryRun === undefined} onClick={() => void run(() => redrive(false))}>
                    Redrive{dryRun !== undefined && ` ${count(dryRun)}`}
                  </button>
                </div>
              </div>
            )}
          </>
        )}
      </Loaded>
      <Refused failure={failure} />
      {job && <JobProgress key={job.job_id} jobId={job.job_id} onDone={() => (letters.refresh(), onChanged())} />}
    </section>
  )
}
