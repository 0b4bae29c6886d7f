/** A trial of a SmartModule beside its code or its config: on which records, and what becomes of them. */
import { useLocation } from 'preact-iso'
import { useEffect, useState } from 'preact/hooks'
import type {
  GetSmartModuleResponse,
  ListPipelinesResponse,
  ListStreamsResponse,
  Pipeline,
  TestSmartModuleResponse,
  Trace,
} from '../../../../clients/typescript/src/generated/types.ts'
import { post, withQuery } from '../api.ts'
import { useStoredState } from '../stored-state.ts'
import { useAll, useQuery } from '../query.ts'
import { may } from '../session.ts'
import { KeepAsTest, testFrom, Verdict } from './kept-tests.tsx'
import { Results } from './results.tsx'
import { partsOf, RecordsChoice, recordsOfStream, stepIn, testOf, trialOf, type Tests, type TrialStep } from './trial-records.tsx'

/** What the code, or the deployed version, is tried on, with which config, and what became of it. */
export function useTrial(known: GetSmartModuleResponse | undefined, kept: Tests) {
  const { query, path, route } = useLocation()
  const streams = useAll<ListStreamsResponse>(may('streams:read') ? '/streams' : null)
  const pipelines = useAll<ListPipelinesResponse>(known && may('pipelines:read') ? `/pipelines?module_id=${known.id}` : null)
  const first = streams.data?.streams[0]
  const choice = query.records ?? (first ? recordsOfStream(first.id) : '')
  const { kind, id } = partsOf(choice)
  const pipeline = useQuery<Pipeline>(kind === 'letters' ? `/pipelines/${id}` : null)
  const test = testOf(choice, kept)
  const step = known && pipeline.data ? stepIn(pipeline.data, known.id) : -1
  const draft = useStoredState<Record<string, unknown>>(`config-${known?.id ?? 'new'}`, {})
  const { value: config } = draft
  /** With another config, its fields begin anew. */
  const [begun, setBegun] = useState(0)
  const [tried, setTried] = useState<{ of: string; traces: Trace[] }>()
  useEffect(() => {
    const own = test?.config ?? pipeline.data?.processors[step]?.config
    if (!own) return
    // It is the test's or the pipeline's, and is there again.
    draft.set(own)
    setBegun((before) => before + 1)
  }, [test, pipeline.data])
  return {
    streams: streams.data?.streams ?? [],
    pipelines: pipelines.data?.pipelines ?? [],
    choice,
    streamId: kind === 'stream' ? id : undefined,
    setChoice: (next: string) => route(withQuery(path, { ...query, records: next }), true),
    config,
    setConfig: (next: Record<string, unknown>) => draft.keep(next),
    forgetConfig: () => draft.keep(undefined),
    begun,
    test,
    /** The step of the chain that is tried, from 0. */
    step: Math.max(step, 0),
    /** Whether there is what was chosen: a pipeline may have got another chain. */
    isReady: kind === 'stream' || test !== undefined || step >= 0,
    traces: tried?.of === choice ? tried.traces : undefined,
    forget: () => setTried(undefined),
    async run(own: TrialStep): Promise<void> {
      const asked = trialOf(choice, own, { module: known, pipeline: pipeline.data, tests: kept })
      setTried({ of: choice, traces: (await post<TestSmartModuleResponse>('/smartmodules/test', asked)).records })
    },
  }
}

/** The records, and what becomes of them. */
export function OnRecords({
  trial,
  kept,
  isBusy,
  mayRun,
  onRun,
  onKeep,
}: {
  trial: ReturnType<typeof useTrial>
  kept: Tests
  isBusy: boolean
  mayRun: boolean
  onRun(): void
  onKeep: ((tests: Tests) => void) | undefined
}) {
  const { choice, traces, test } = trial
  return (
    <section aria-label="Real records">
      <div class="line">
        <RecordsChoice value={choice} onChange={trial.setChoice} streams={trial.streams} pipelines={trial.pipelines} tests={kept} />
        <button type="button" disabled={isBusy || !mayRun || !trial.isReady} onClick={onRun}>
          {isBusy ? 'Running…' : 'Run'}
        </button>
      </div>
      {traces && traces.length === 0 && (
        <p class="quiet">{partsOf(choice).kind === 'letters' ? 'None waits there.' : 'The stream has no records yet.'}</p>
      )}
      {traces && test && <Verdict test={test} traces={traces} />}
      {traces && traces.length > 0 && !test && onKeep && (
        <KeepAsTest onKeep={(title) => onKeep([...kept, testFrom(title, trial.config, traces, trial.step)])} />
      )}
      {traces && traces.length > 0 && <Results traces={traces} />}
    </section>
  )
}
