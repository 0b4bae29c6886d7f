/** Tests that are kept with a SmartModule: made from records that it was tried on, and held against what it makes of them. */
import { useState } from 'preact/hooks'
import { canonicalJson } from '../../../../clients/typescript/src/canonical-json.ts'
import type { Trace, TraceRecord } from '../../../../clients/typescript/src/generated/types.ts'
import { headerText, jsonOf } from '../records.ts'
import type { Tests } from './trial-records.tsx'

type Test = Tests[number]

const valueOf = ({ value }: TraceRecord): unknown => jsonOf(value) ?? null

/** What the step did to these records, as a test. */
export function testFrom(title: string, config: Record<string, unknown>, traces: readonly Trace[], step: number): Test {
  const steps = traces.flatMap(({ steps }) => steps.slice(step, step + 1)).filter(({ outcome }) => outcome !== 'not_reached')
  return {
    title,
    config,
    records: steps.flatMap((own) =>
      own.in.map((record) => ({
        key: record.key?.text ?? null,
        value: valueOf(record),
        headers: Object.fromEntries(record.headers.map(({ key, base64 }) => [key, headerText(base64)])),
        timestamp: record.timestamp,
      })),
    ),
    out: steps.flatMap(({ out }) => out.map(valueOf)),
    failures: steps.flatMap(({ error }) => error?.message ?? []),
  }
}

/** Whether the records of the test became what it says. */
export function Verdict({ test: { out, failures }, traces }: { test: Test; traces: readonly Trace[] }) {
  const made = traces.flatMap(({ outputs }) => outputs.map(valueOf))
  const failed = traces.flatMap(({ steps }) => steps[0]?.error?.message ?? [])
  const [is, should] = [
    [...made.map((value) => `out  ${canonicalJson(value)}`), ...failed.map((message) => `fails with ${message}`)],
    [...out.map((value) => `out  ${canonicalJson(value)}`), ...failures.map((message) => `fails with ${message}`)],
  ].map((lines) => lines.join('\n'))
  return is === should ? (
    <p class="good" role="status">
      As the test says.
    </p>
  ) : (
    <div class="bad" role="status">
      The test says otherwise:<pre tabIndex={0}>{should}</pre>
    </div>
  )
}

export function KeepAsTest({ onKeep }: { onKeep(title: string): void }) {
  const [title, setTitle] = useState('')
  return (
    <p class="line">
      <label>
        Test <input placeholder="what it shows" value={title} onInput={({ currentTarget }) => setTitle(currentTarget.value)} />
      </label>
      <button
        type="button"
        onClick={() => {
          onKeep(title)
          setTitle('')
        }}
      >
        Keep these as a test
      </button>
    </p>
  )
}

/** The tests that the next version is deployed with. */
export function KeptTests({ tests, onChange }: { tests: Tests; onChange(next: Tests): void }) {
  if (tests.length === 0) return null
  return (
    <ul>
      {tests.map(({ title, records }, index) => (
        <li key={index}>
          Test {title || index + 1}, {records.length} {records.length === 1 ? 'record' : 'records'}{' '}
          <button
            type="button"
            class="plain"
            aria-label={`Drop test ${title || index + 1}`}
            onClick={() => onChange(tests.toSpliced(index, 1))}
          >
            drop
          </button>
        </li>
      ))}
    </ul>
  )
}
