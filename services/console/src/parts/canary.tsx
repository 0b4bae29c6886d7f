/** Another version or config of a step, in shadow or with a share of the keys: what it makes different, and making it the running one. */
import { useLocation } from 'preact-iso'
import { useEffect, useRef, useState } from 'preact/hooks'
import { writeJson } from '../../../../clients/typescript/src/core/exact-json.ts'
import type { GetCanaryResponse, ListSmartModuleVersionsResponse, Pipeline } from '../../../../clients/typescript/src/generated/types.ts'
import { call, post } from '../api.ts'
import { count } from '../format.ts'
import { useAction, useQuery } from '../query.ts'
import { glimpse } from '../records.ts'
import { may } from '../session.ts'
import { Badge } from './badge.tsx'
import { Refused } from './failures.tsx'
import { Figure } from './figure.tsx'
import { Table } from './table.tsx'
import { asCurl } from '../same-as.ts'
import { SameAs } from './same-as.tsx'
import { StepConfig } from './step-config.tsx'

const REFRESH_MS = 5000

const percent = (share: number): string => `${Math.round(share * 1000) / 10} %`
/** Shares of the keys to choose from; 0 is a canary in shadow. */
const SHARES = [0, 0.01, 0.05, 0.1, 0.25, 0.5]
/** Shares of the records that it may fail. */
const FAILING = [0, 0.01, 0.05, 0.1, 1]

const made = ({ out, outcome, error }: GetCanaryResponse['examples'][number]['before']): string =>
  error ? `failed: ${error.message}` : out.map(({ value }) => glimpse(value)).join(' ') || outcome

type RunningProps = { pipeline: Pipeline; canary: GetCanaryResponse; onEnded(as: 'promoted' | 'removed'): void }

function Running({ pipeline, canary, onEnded }: RunningProps) {
  const { id } = pipeline
  const { run, isBusy, failure } = useAction()
  const { step, module, version, running_version, status, status_reason, compared, differing, failed, skipped, examples } = canary
  const { share, handled, handled_failed } = canary
  const config = writeJson(canary.config, 2)
  return (
    <>
      <p>
        {module} <b>{version}</b> {share === null ? 'in shadow beside' : `with ${percent(share)} of the keys, beside`} {running_version} in
        step {step} <Badge text={status} />
      </p>
      {config !== writeJson(pipeline.processors[step - 1]?.config, 2) && (
        <details>
          <summary>with another config</summary>
          <pre tabIndex={0}>{config}</pre>
        </details>
      )}
      {status_reason && <p class="refused">{status_reason}</p>}
      <p class="quiet">Compared over the newest records of the source, also those from before it began.</p>
      <dl class="figures">
        <Figure name="compared">{count(compared)}</Figure>
        <Figure name="would differ">{count(differing)}</Figure>
        <Figure name="would fail">{count(failed)}</Figure>
        <Figure name="left out">{count(skipped)}</Figure>
        {share !== null && (
          <>
            <Figure name="handled">{count(handled)}</Figure>
            <Figure name="of these failed">{count(handled_failed)}</Figure>
          </>
        )}
      </dl>
      {examples.length > 0 && (
        <Table label="Records that would differ" columns={['Record', `By ${running_version}`, `By the canary, ${version}`]}>
          {examples.map(({ partition, offset, before, after }) => (
            <tr key={`${partition}:${offset}`}>
              <th scope="row">
                {partition}:{offset}
              </th>
              <td class="value">{made(before)}</td>
              <td class="value">{made(after)}</td>
            </tr>
          ))}
        </Table>
      )}
      {may('pipelines:write') && status !== 'promoted' && (
        <div class="actions">
          {status === 'comparing' && (
            <button
              type="button"
              disabled={isBusy}
              onClick={() => void run(() => post(`/pipelines/${id}/canary/promote`).then(() => onEnded('promoted')))}
            >
              Promote {version === running_version ? 'the config' : version}
            </button>
          )}
          <button
            type="button"
            class="plain"
            disabled={isBusy}
            onClick={() => void run(() => call('PATCH', `/pipelines/${id}`, { canary: null }).then(() => onEnded('removed')))}
          >
            end the canary
          </button>
        </div>
      )}
      <Refused failure={failure} />
    </>
  )
}

function Begin({ pipeline, onChanged }: { pipeline: Pipeline; onChanged(): void }) {
  const [askedStep, askedVersion] = (useLocation().query.canary ?? '').split('@')
  const [step, setStep] = useState(Number(askedStep) || 1)
  const [chosen, setVersion] = useState(askedVersion)
  const [changed, setChanged] = useState<Record<string, unknown>>()
  const [share, setShare] = useState(0)
  const [failing, setFailing] = useState(0)
  const { run, isBusy, failure } = useAction()
  const running = pipeline.processors[step - 1]
  const versions = useQuery<ListSmartModuleVersionsResponse>(running ? `/smartmodules/${running.module_id}/versions?page_size=100` : null)
  const version = chosen ?? running?.version ?? ''
  const hasOtherConfig = changed !== undefined && writeJson(changed) !== writeJson(running?.config)
  const isOther = version !== running?.version || hasOtherConfig
  const body = () => ({
    canary: {
      step,
      version,
      ...(hasOtherConfig ? { config: changed } : {}),
      ...(share > 0 ? { share } : {}),
      ...(failing > 0 ? { max_failing: failing } : {}),
    },
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void run(async () => {
          await call('PATCH', `/pipelines/${pipeline.id}`, body())
          onChanged()
        })
      }}
    >
      <div class="line">
        <label>
          Step{' '}
          <select
            value={step}
            onChange={({ currentTarget }) => {
              setStep(Number(currentTarget.value))
              setVersion(undefined)
              setChanged(undefined)
            }}
          >
            {pipeline.processors.map(({ name }, index) => (
              <option key={index} value={index + 1}>
                {index + 1}. {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          Version{' '}
          <select value={version} onChange={({ currentTarget }) => setVersion(currentTarget.value)}>
            {[...new Set([running?.version, version, ...(versions.data?.versions.map((each) => each.version) ?? [])])].map((each) => (
              <option key={each} value={each}>
                {each}
                {each === running?.version && ', which runs now'}
              </option>
            ))}
          </select>
        </label>
        <label>
          Gets{' '}
          <select value={share} onChange={({ currentTarget }) => setShare(Number(currentTarget.value))}>
            {SHARES.map((each) => (
              <option key={each} value={each}>
                {each === 0 ? 'nothing: it is only compared' : `${percent(each)} of the keys`}
              </option>
            ))}
          </select>
        </label>
        <label>
          May fail{' '}
          <select value={failing} onChange={({ currentTarget }) => setFailing(Number(currentTarget.value))}>
            {FAILING.map((each) => (
              <option key={each} value={each}>
                {each === 0 ? 'nothing that the other handles' : percent(each)}
              </option>
            ))}
          </select>
        </label>
      </div>
      {running && (
        <StepConfig key={step} moduleId={running.module_id} version={version} value={changed ?? running.config} onChange={setChanged} />
      )}
      <button disabled={isBusy || !isOther}>Try it</button>{' '}
      {!isOther && <span class="quiet">Choose another version, or change the config, first.</span>}
      <Refused failure={failure} />
      <SameAs
        ways={() => {
          if (!isOther) throw new Error('nothing is to be tried')
          return { curl: asCurl([{ method: 'PATCH', path: `/pipelines/${pipeline.id}`, body: body() }]) }
        }}
      />
    </form>
  )
}

export function Canary({ pipeline, hasOne, onChanged }: { pipeline: Pipeline; hasOne: boolean | undefined; onChanged(): void }) {
  /** How it was ended here, if it was: a removed one is not asked for, though a status from before still has it. */
  const [ended, setEnded] = useState<'promoted' | 'removed'>()
  const isShown = ended === 'promoted' || (hasOne && ended === undefined)
  const canary = useQuery<GetCanaryResponse>(isShown ? `/pipelines/${pipeline.id}/canary` : null, REFRESH_MS)
  useEffect(() => {
    if (!hasOne && ended === 'removed') setEnded(undefined)
  }, [hasOne])
  /** The address names a step and a version to begin with, as `2@1.0.1`. */
  const isAsked = useLocation().query.canary !== undefined
  const begin = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    if (isAsked) begin.current?.scrollIntoView()
  }, [hasOne])
  if (pipeline.processors.length === 0 || hasOne === undefined) return null
  return (
    <section aria-labelledby="canary">
      <h2 id="canary">Canary</h2>
      {isShown && canary.data && <Running pipeline={pipeline} canary={canary.data} onEnded={(as) => (setEnded(as), onChanged())} />}
      {!hasOne && may('pipelines:write') && (
        <details ref={begin} open={isAsked}>
          <summary>Try another version or config beside the running one</summary>
          <Begin pipeline={pipeline} onChanged={() => (setEnded(undefined), onChanged())} />
        </details>
      )}
      {!hasOne && !may('pipelines:write') && <p class="quiet">No other version or config is being tried.</p>}
      {hasOne && <Refused failure={canary.failure} />}
    </section>
  )
}
