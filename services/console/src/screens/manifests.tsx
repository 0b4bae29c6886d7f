/** A set of streams, SmartModules and pipelines as one text: what it would change is shown, then exactly that is changed. */
import { useState } from 'preact/hooks'
import { writeJson } from '../../../../clients/typescript/src/core/exact-json.ts'
import type { ListManifestsResponse, ManifestPlan, PlannedChange } from '../../../../clients/typescript/src/generated/types.ts'
import { Failure, get, HOME, post } from '../api.ts'
import { manifestOf, readFiles, type Files } from '../manifest-files.ts'
import { Changes } from '../parts/difference.tsx'
import { Badge } from '../parts/badge.tsx'
import { Copy } from '../parts/copy.tsx'
import { Refused } from '../parts/failures.tsx'
import { Field } from '../parts/field.tsx'
import { Table } from '../parts/table.tsx'
import { Title } from '../parts/title.tsx'
import { SameAs } from '../parts/same-as.tsx'
import { planRows } from '../plan-rows.ts'
import { useAction, useQuery } from '../query.ts'
import { asCurl, quoted } from '../same-as.ts'
import { may } from '../session.ts'
import { mayLeave, useUnsaved } from '../unsaved.ts'

type Kind = PlannedChange['kind']
const LOST: Record<Kind, string> = {
  stream: 'Lost: its records, unless it adopted its topic.',
  smartmodule: 'Lost: all its versions.',
  pipeline: 'Lost: its position and its dead letters.',
}

/** What the change is in a word, how it looks, and what follows from it. */
function effectOf({ kind, action, effect }: PlannedChange): [word: string, tone: string, text: string] {
  switch (effect ?? action) {
    case 'create':
      return ['created', 'good', '']
    case 'adopt':
      return ['adopted', 'info', 'It is as it should be.']
    case 'live':
      return ['changed live', 'info', kind === 'pipeline' ? 'Running tasks take it over between two rounds: nothing stops.' : '']
    case 'reopen':
      return ['reopened', 'warn', 'Its tasks start anew, and go on where they were.']
    case 'replace':
      return [
        'replaced',
        'bad',
        'Deleted, and made anew with another id. Lost: its position, its dead letters, and the address that records are pushed to.',
      ]
    default:
      return ['removed', 'bad', LOST[kind]]
  }
}

function Warnings({ warnings = [] }: ManifestPlan) {
  return warnings.map(({ path, message }) => (
    <p key={path}>
      <Badge text="warning" tone="warn" /> {path.split('/')[3]} {message}
    </p>
  ))
}

function Plan({ changes, unchanged }: ManifestPlan) {
  if (changes.length === 0) return <p>Nothing: all is as it should be ({unchanged} unchanged).</p>
  return (
    <Table label="What changes" columns={['What', 'Change', 'What follows']}>
      {changes.map((change) => {
        const { kind, name, adopts, differences } = change
        const [word, tone, text] = effectOf(change)
        return (
          <tr key={kind + name}>
            <th scope="row">
              {name}
              <small>{kind === 'smartmodule' ? 'SmartModule' : kind}</small>
            </th>
            <td>
              <Badge text={word} tone={tone} />
            </td>
            <td>
              {text} {adopts && 'It becomes a member of the set: until now it was in none.'}
              {differences.length > 0 && <Changes title={`What differs in ${name}`} changes={planRows(differences)} />}
            </td>
          </tr>
        )
      })}
    </Table>
  )
}

/** Pipelines that the service changes only by deleting them, and only where that was allowed. */
const replaceable = (failure: Failure | undefined): string[] =>
  (failure?.details ?? []).flatMap(({ path, message }) => {
    const name = /^\/manifest\/pipelines\/([^/]+)$/.exec(path)?.[1]
    return name !== undefined && message.includes('"replace"') ? [name.replaceAll('~1', '/').replaceAll('~0', '~')] : []
  })

/** `files`: those that the text names. */
type Asked = { text: string; files: Files; prune: boolean; replace: readonly string[] }
const NEW: Asked = { text: '', files: new Map(), prune: false, replace: [] }

/** What requests take. Throws what is wrong with the text. */
const bodyOf = ({ text, files, prune, replace }: Asked) => ({ manifest: manifestOf(text, files), prune, replace })

function Form({ asked, onChange }: { asked: Asked; onChange(next: Asked): void }) {
  const { text, files, prune, replace } = asked
  const { run, isBusy, failure } = useAction()
  /** Of which manifest it is, and whether it was made. */
  const [planned, setPlanned] = useState<{ of: Asked; plan: ManifestPlan; isDone: boolean }>()
  const current = planned?.of === asked ? planned : undefined
  const plan = current?.plan
  useUnsaved(text !== '' && !current?.isDone)
  const set = (part: Partial<Asked>): void => onChange({ ...asked, ...part })
  const take = (chosen: FileList) =>
    run(async () => {
      const { text: manifest = text, files: others } = await readFiles([...chosen])
      set({ text: manifest, files: new Map([...files, ...others]) })
    })
  const mayApply = (['pipelines:write', 'streams:write', 'smartmodules:write'] as const).every(may)
  /** What may be applied. */
  const open = plan && !current?.isDone && plan.changes.length > 0 ? plan : undefined
  async function send(): Promise<void> {
    const ask = async (path: string, more: object) =>
      setPlanned({ of: asked, plan: await post<ManifestPlan>(path, { ...bodyOf(asked), ...more }), isDone: open !== undefined })
    if (!open) return ask('/manifests/plan', {})
    // After a failure another plan is needed: some changes may have been made.
    await ask('/manifests/apply', { hash: open.hash }).catch((error: unknown) => {
      setPlanned(undefined)
      throw error
    })
  }
  const allowed = new Set([...replace, ...replaceable(failure)])
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void run(send)
      }}
    >
      <Field name="Files" hint="The manifest, which comes into the field below, and the sources and tests that it names.">
        <input
          type="file"
          multiple
          accept=".yaml,.yml,.json,.ts,.wasm"
          onChange={async ({ currentTarget }) => {
            if (!currentTarget.files) return
            // What could not be read is not what is planned.
            if (!(await take(currentTarget.files))) currentTarget.value = ''
          }}
        />
      </Field>
      {files.size > 0 && <p class="quiet">with {[...files.keys()].join(', ')}</p>}
      <Field name="Manifest" hint="What should be there, by name, as YAML or JSON.">
        <textarea
          rows={Math.min(24, Math.max(10, text.split('\n').length + 1))}
          required
          spellcheck={false}
          placeholder={'dps: 1\nset: shop\nstreams:\n  orders: { schema: { id: string, amount: number }, key: id }'}
          value={text}
          onInput={({ currentTarget }) => set({ text: currentTarget.value })}
          onDrop={(event) => {
            const dropped = event.dataTransfer?.files
            if (!dropped || dropped.length === 0) return
            event.preventDefault()
            void take(dropped)
          }}
        />
      </Field>
      <label>
        <input type="checkbox" checked={prune} onChange={() => set({ prune: !prune })} /> remove members of the set that it no longer names
      </label>
      <Refused failure={failure} />
      {[...allowed].map((name) => (
        <div key={name}>
          <label>
            <input
              type="checkbox"
              checked={replace.includes(name)}
              onChange={() => set({ replace: replace.includes(name) ? replace.filter((each) => each !== name) : [...replace, name] })}
            />{' '}
            delete the pipeline {name} and make it anew, without its position
          </label>
        </div>
      ))}
      {plan && (
        <section aria-labelledby="plan" role="status">
          <h2 id="plan">{current?.isDone ? 'What was changed' : 'What it changes'}</h2>
          <Warnings {...plan} />
          <Plan {...plan} />
        </section>
      )}
      {!mayApply && <p class="quiet">Your role may see what it changes, but not apply it.</p>}
      <div class="actions">
        <button disabled={isBusy || (open !== undefined && !mayApply)}>
          {isBusy
            ? 'Working…'
            : open
              ? `Apply ${open.changes.length === 1 ? 'this change' : `these ${open.changes.length} changes`}`
              : 'Show what it changes'}
        </button>
      </div>
      <SameAs
        of="curl or dps"
        ways={() => ({
          curl: asCurl([{ method: 'POST', path: '/manifests/apply', body: { ...bodyOf(asked), ...(open ? { hash: open.hash } : {}) } }]),
          dps: [
            '# the manifest as manifest.yaml\ndps apply manifest.yaml',
            ...(open ? ['--plan-hash', open.hash] : []),
            ...(prune ? ['--prune'] : []),
            ...(replace.length > 0 ? ['--replace', ...replace.map(quoted)] : []),
          ].join(' '),
        })}
      />
    </form>
  )
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

function Export({ onTake }: { onTake(text: string): void }) {
  const [set, setSet] = useState('')
  const sets = useQuery<ListManifestsResponse>('/manifests', 5000).data?.sets ?? []
  const [text, setText] = useState<string>()
  const { run, isBusy, failure } = useAction()
  return (
    <section aria-labelledby="export">
      <h2 id="export">A set as it is</h2>
      <form
        class="line"
        onSubmit={(event) => {
          event.preventDefault()
          setText(undefined)
          void run(async () => setText(writeJson((await get<{ manifest: unknown }>(`/manifests/${encodeURIComponent(set)}`)).manifest, 2)))
        }}
      >
        <label>
          Set{' '}
          <select required value={set} onChange={({ currentTarget }) => setSet(currentTarget.value)}>
            <option value="">{sets.length === 0 ? 'there is none yet' : '—'}</option>
            {sets.map(({ set: each, streams, smartmodules, pipelines }) => (
              <option key={each} value={each}>
                {each}: {counted(streams, 'stream')}, {counted(smartmodules, 'SmartModule')}, {counted(pipelines, 'pipeline')}
              </option>
            ))}
          </select>
        </label>
        <button disabled={isBusy || set === ''}>Export</button>
        {text !== undefined && (
          <>
            <Copy text={text} />
            <button type="button" class="plain" onClick={() => onTake(text)}>
              change it
            </button>
          </>
        )}
      </form>
      <Refused failure={failure} />
      {text !== undefined && (
        <pre tabIndex={0} aria-label="The set as a manifest">
          {text}
        </pre>
      )}
    </section>
  )
}

export function Manifests() {
  const [asked, setAsked] = useState(NEW)
  return (
    <>
      <Title text="Manifests">
        <a class="button second" href={new URL('../docs/manifests.html', HOME).href} target="_blank">
          How to write one
        </a>
      </Title>
      <Form asked={asked} onChange={setAsked} />
      <Export
        onTake={(text) => {
          if (!mayLeave()) return
          setAsked({ ...NEW, text })
          document.querySelector('textarea')?.focus()
        }}
      />
    </>
  )
}
