/** One stream: its schema, its records at any place, and as they come; writing some. */
import { useLocation } from 'preact-iso'
import { useEffect, useState } from 'preact/hooks'
import type {
  GetLineageResponse,
  GetStreamDataResponse,
  GetStreamRecordsResponse,
  Stream as Definition,
  TailFrame,
  TailRecord,
  WriteStreamDataResponse,
} from '../../../../clients/typescript/src/generated/types.ts'
import { parseAsWritten } from '../../../../clients/typescript/src/core/exact-json.ts'
import { HOME, post, urlOf, withQuery } from '../api.ts'
import { clock } from '../clock.ts'
import { count, timeOf, typedTime } from '../format.ts'
import { Badge } from '../parts/badge.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Loaded, Refused, faultAt } from '../parts/failures.tsx'
import { Field } from '../parts/field.tsx'
import { Figure } from '../parts/figure.tsx'
import { Table } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { Title } from '../parts/title.tsx'
import { Remove } from '../parts/remove.tsx'
import { StreamSchema } from '../parts/stream-schema.tsx'
import { unanswered, useAction, useQuery } from '../query.ts'
import { glimpse } from '../records.ts'
import { isCsv, rowsOf } from '../rows.ts'
import { asCurl, needed, operand } from '../same-as.ts'
import { SameAs } from '../parts/same-as.tsx'
import { may } from '../session.ts'
import { useUnsaved } from '../unsaved.ts'
import { Shown } from './record.tsx'

const KEPT = 200
const PAGE = 50

type Placed = Pick<TailRecord, 'partition' | 'offset' | 'record'>

const placeOf = ({ partition, offset }: Pick<Placed, 'partition' | 'offset'>): string => `${partition}:${offset}`

function RecordTable({ label, records }: { label: string; records: Placed[] }) {
  const hasKeys = records.some(({ record }) => record?.key)
  const [opened, setOpened] = useState<Placed>()
  return (
    <>
      {/* In a frame: what comes below it stays in reach. */}
      <Table label={label} columns={['Record', 'When', ...(hasKeys ? ['Key'] : []), 'Value']} isFramed>
        {records.map(
          ({ partition, offset, record }) =>
            record && (
              <tr key={`${partition}:${offset}`}>
                <th scope="row">
                  <button type="button" class="plain" title="All of it" onClick={() => setOpened({ partition, offset, record })}>
                    {partition}:{offset}
                  </button>
                </th>
                <td>
                  <Time at={record.timestamp} />
                </td>
                {hasKeys && <td class="value key">{record.key?.text ?? record.key?.base64}</td>}
                <td class="value">
                  {glimpse(record.value)}
                  {record.headers.length > 0 && <small>{record.headers.map(({ key }) => key).join(', ')}</small>}
                </td>
              </tr>
            ),
        )}
      </Table>
      {opened?.record && (
        <Dialog title={`Record ${placeOf(opened)}`} onClose={() => setOpened(undefined)}>
          <Shown record={opened.record} />
        </Dialog>
      )}
    </>
  )
}

function Tail({ id }: { id: string }) {
  const [isOn, setIsOn] = useState(false)
  const [isFrozen, setIsFrozen] = useState(false)
  const [records, setRecords] = useState<TailRecord[]>([])
  const [state, setState] = useState('')
  const [turn, setTurn] = useState(0)
  const [hasHole, setHasHole] = useState(false)
  useEffect(() => {
    if (!isOn || isFrozen) return
    const source = new EventSource(urlOf(`/streams/${id}/tail`))
    source.addEventListener('open', () => setState('listening'))
    let timer: ReturnType<typeof setTimeout> | undefined
    source.addEventListener('error', () => {
      setState('reconnecting')
      // The browser tries again by itself unless the answer was a refusal.
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(() => setTurn((before) => before + 1), 3000)
    })
    source.addEventListener('frame', ({ data }: MessageEvent<string>) => {
      const { records: found, sampled } = parseAsWritten(data) as TailFrame
      setRecords((before) => {
        // A tail that begins again shows the newest records again.
        const known = new Set(before.map(placeOf))
        return [...found.filter((each) => !known.has(placeOf(each))).toReversed(), ...before].slice(0, KEPT)
      })
      // How many is not known: what was left out is told in offsets, of which markers of transactions have some.
      setState(sampled ? 'listening: some are left out, as they come faster than they can be shown' : 'listening')
    })
    return () => {
      clearTimeout(timer)
      source.close()
    }
  }, [id, isOn, isFrozen, turn])
  return (
    <section aria-labelledby="tail">
      <h2 id="tail">As they come</h2>
      <div class="actions">
        <button type="button" onClick={() => setIsOn(!isOn)}>
          {isOn ? 'Stop' : 'Follow'}
        </button>
        {isOn && (
          <button type="button" aria-pressed={isFrozen} onClick={() => (setIsFrozen(!isFrozen), setHasHole(true))}>
            {isFrozen ? 'Go on' : 'Freeze'}
          </button>
        )}
        {isOn && (
          <span class="quiet" role="status">
            {isFrozen ? 'frozen: what comes meanwhile may be left out' : unanswered.value > 0 ? 'reconnecting' : state}
          </span>
        )}
      </div>
      {hasHole && <p class="quiet">It was frozen: of what came meanwhile, only the newest records are among these.</p>}
      {records.length > 0 && <RecordTable label="Records as they come" records={records} />}
    </section>
  )
}

/** Records of any place, the newest without one; where is in the address. */
function Browse({ id, partitions }: { id: string; partitions: number }) {
  const { query, path, route } = useLocation()
  const { partition, offset, timestamp, key, before, after, up } = query
  /** From an offset or a time on, and on the pages around, the oldest come first. */
  const isUp = (up ?? offset ?? timestamp) !== undefined
  const asked = { partition, offset, timestamp, key, before, after }
  const records = useQuery<GetStreamRecordsResponse>(withQuery(`/streams/${id}/records`, { ...asked, limit: PAGE }))
  // Times are typed as they are shown.
  const isUtc = clock.value === 'UTC'
  // Pages around those of a key would have records of all keys.
  const at = (edge: 'before' | 'after', to: string | undefined) =>
    to &&
    key === undefined && (
      <a href={withQuery(path, { partition, [edge]: to, up: isUp ? 1 : '' })}>{edge === 'before' ? '← older' : 'newer →'}</a>
    )
  const isPlaced = Object.values(asked).some((each) => each !== undefined)
  return (
    <section aria-labelledby="records">
      <h2 id="records">Records</h2>
      <form
        class="line"
        key={[...Object.values(asked), isUtc].join()}
        onSubmit={(event) => {
          event.preventDefault()
          const form = new FormData(event.currentTarget)
          const from = String(form.get('offset'))
          // Each partition has offsets of its own.
          const place = { partition: String(form.get('partition')) || (from === '' ? '' : '0'), offset: from, key: String(form.get('key')) }
          route(withQuery(path, { ...place, timestamp: timeOf(String(form.get('time')), isUtc) }))
        }}
      >
        <label>
          Partition{' '}
          <select name="partition">
            <option value="">all</option>
            {Array.from({ length: partitions }, (_, each) => (
              <option key={each} selected={String(each) === partition}>
                {each}
              </option>
            ))}
          </select>
        </label>
        <label>
          From offset <input name="offset" type="number" min="0" defaultValue={offset ?? ''} />
        </label>
        <label>
          or from{isUtc && ' (UTC)'} <input name="time" type="datetime-local" step="1" defaultValue={typedTime(timestamp, isUtc)} />
        </label>
        <label>
          with the key <input name="key" size={12} spellcheck={false} defaultValue={key ?? ''} />
        </label>
        <button>Read</button>
        <button type="button" onClick={() => (isPlaced ? route(path) : records.refresh())}>
          Newest
        </button>
        {at('before', records.data?.older)}
        {at('after', records.data?.newer)}
      </form>
      {offset !== undefined && partitions > 1 && (
        <p class="quiet">Each partition has offsets of its own: these are those of partition {partition}.</p>
      )}
      <Loaded query={records}>
        {({ records: found, truncated, incomplete }) => (
          <>
            {found.length === 0 && !incomplete && <p class="quiet">There are no records at this place.</p>}
            {found.length > 0 && <RecordTable label="Records" records={isUp ? found : found.toReversed()} />}
            {incomplete && (
              <p class="quiet">The search was ended before all records were looked at: give a partition, an offset or a time.</p>
            )}
            {truncated && <p class="quiet">Fewer than asked for: they are large.</p>}
          </>
        )}
      </Loaded>
    </section>
  )
}

/** The pipelines that read and write the stream. */
function Users({ id }: { id: string }) {
  const { data } = useQuery<GetLineageResponse>('/lineage')
  const users = data?.pipelines.filter(({ from, to }) => from === id || to === id) ?? []
  if (users.length === 0) return null
  return (
    <section aria-labelledby="users">
      <h2 id="users">Pipelines</h2>
      <ul>
        {users.map((each) => (
          <li key={each.id}>
            {each.to === id ? 'written by' : 'read by'} <a href={`${HOME.pathname}pipelines/${each.id}`}>{each.name}</a>{' '}
            <Badge text={each.status} />
          </li>
        ))}
      </ul>
    </section>
  )
}

type Written = Pick<Definition, 'id' | 'name' | 'schema'>

function Write({ stream: { id, name, schema }, onWritten }: { stream: Written; onWritten(): void }) {
  const [text, setText] = useState('')
  useUnsaved(text !== '')
  const [written, setWritten] = useState(0)
  const { run, isBusy, failure } = useAction()
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void run(async () => {
          const { records } = await post<WriteStreamDataResponse>(`/streams/${id}/data`, { records: rowsOf(text, schema) })
          setText('')
          setWritten(records)
          onWritten()
        })
      }}
    >
      <Field
        name="Records to write"
        hint="One JSON object a line, an array, or CSV with a header; all are written, or none."
        fault={faultAt(failure, '')}
      >
        <textarea
          rows={4}
          required
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value)
            setWritten(0)
          }}
        />
      </Field>
      <Refused failure={failure} beside={['']} />
      <button disabled={isBusy}>Write</button> {written > 0 && <span role="status">{count(written)} written</span>}
      <SameAs
        of="curl or dps"
        ways={() => {
          const records = rowsOf(text, schema)
          needed(records)
          const file = `records.${isCsv(text) ? 'csv' : 'ndjson'}`
          return {
            curl: asCurl([{ method: 'POST', path: `/streams/${id}/data`, body: { records } }]),
            dps: `# the records, one a line, as ${file}\ndps produce ${operand(name)} ${file}`,
          }
        }}
      />
    </form>
  )
}

export function Stream({ id }: { id: string }) {
  const { route } = useLocation()
  const [writes, setWrites] = useState(0)
  const stream = useQuery<Definition>(`/streams/${id}`)
  const data = useQuery<GetStreamDataResponse>(`/streams/${id}/data?limit=1`)
  return (
    <Loaded query={stream}>
      {(found) => {
        const { name, status, status_reason, description, topic, partitions, format, key } = found
        return (
          <>
            <Title text={name}>
              <Badge text={status} />
              <Remove what="delete" scope="streams:write" path={`/streams/${id}`} onDone={() => route(`${HOME.pathname}streams`)} />
            </Title>
            {description && <p>{description}</p>}
            {status_reason && <p class="refused">{status_reason}</p>}
            <dl class="figures">
              <Figure name="records">{data.data ? count(data.data.pagination.total) : '…'}</Figure>
              <Figure name="partitions">{partitions}</Figure>
              <Figure name="format">{format}</Figure>
              <Figure name="key">{key ?? 'none'}</Figure>
            </dl>
            <p class="quiet">
              topic <code>{topic}</code>
            </p>
            <StreamSchema key={found.schema_id} stream={found} onChanged={stream.refresh} />
            <Users id={id} />
            <Browse key={`${id}/${writes}`} id={id} partitions={partitions} />
            {may('streams:write') && (
              <details>
                <summary>Write records</summary>
                <Write
                  stream={found}
                  onWritten={() => {
                    data.refresh()
                    setWrites(writes + 1)
                  }}
                />
              </details>
            )}
            <Tail id={id} />
          </>
        )
      }}
    </Loaded>
  )
}
