/** One stream: its schema, its records as they come, and writing some. */
import { useEffect, useState } from 'preact/hooks'
import { writeJson } from '../../../../clients/typescript/src/core/exact-json.ts'
import type {
  GetStreamDataResponse,
  Stream as Definition,
  TailFrame,
  TailRecord,
} from '../../../../clients/typescript/src/generated/types.ts'
import { urlOf } from '../api.ts'
import { count } from '../format.ts'
import { Badge, Figure, Loaded, Time, Title } from '../parts/parts.tsx'
import { useQuery } from '../query.ts'
import { glimpse } from '../records.ts'

const KEPT = 200

function Tail({ id }: { id: string }) {
  const [isOn, setIsOn] = useState(false)
  const [isFrozen, setIsFrozen] = useState(false)
  const [records, setRecords] = useState<TailRecord[]>([])
  const [state, setState] = useState('')
  useEffect(() => {
    if (!isOn || isFrozen) return
    const source = new EventSource(urlOf(`/streams/${id}/tail`))
    source.addEventListener('open', () => setState('listening'))
    source.addEventListener('error', () => setState('reconnecting'))
    source.addEventListener('records', ({ data }: MessageEvent<string>) => {
      const { records: found, sampled, dropped } = JSON.parse(data) as TailFrame
      setRecords((before) => [...found.toReversed(), ...before].slice(0, KEPT))
      setState(sampled ? `sampled: ${count(dropped)} left out` : 'listening')
    })
    return () => source.close()
  }, [id, isOn, isFrozen])
  return (
    <section aria-labelledby="tail">
      <h2 id="tail">As they come</h2>
      <div class="actions">
        <button type="button" onClick={() => setIsOn(!isOn)}>
          {isOn ? 'Stop' : 'Follow'}
        </button>
        {isOn && (
          <button type="button" aria-pressed={isFrozen} onClick={() => setIsFrozen(!isFrozen)}>
            {isFrozen ? 'Go on' : 'Freeze'}
          </button>
        )}
        {isOn && (
          <span class="quiet" role="status">
            {isFrozen ? 'frozen' : state}
          </span>
        )}
      </div>
      {records.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Records as they come">
          <table>
            <thead>
              <tr>
                <th scope="col">Record</th>
                <th scope="col">When</th>
                <th scope="col">Value</th>
              </tr>
            </thead>
            <tbody>
              {records.map(
                ({ partition, offset, record }) =>
                  record && (
                    <tr key={`${partition}:${offset}`}>
                      <th scope="row">
                        {partition}:{offset}
                      </th>
                      <td>
                        <Time at={record.timestamp} />
                      </td>
                      <td class="value">{glimpse(record.value)}</td>
                    </tr>
                  ),
              )}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}

export function Stream({ id }: { id: string }) {
  const stream = useQuery<Definition>(`/streams/${id}`)
  const data = useQuery<GetStreamDataResponse>(`/streams/${id}/data?limit=20`)
  return (
    <Loaded query={stream}>
      {({ name, status, status_reason, description, schema, topic, partitions, format, key }) => (
        <>
          <Title text={name}>
            <Badge text={status} />
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
          <div class="columns">
            <section aria-labelledby="schema">
              <h2 id="schema">Schema</h2>
              <table>
                <tbody>
                  {Object.entries(schema).map(([field, type]) => (
                    <tr key={field}>
                      <th scope="row">{field}</th>
                      <td>{type}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </section>
            <section aria-labelledby="first">
              <h2 id="first">First records</h2>
              <Loaded query={data}>
                {({ data: values }) =>
                  values.length === 0 ? (
                    <p class="quiet">It holds no records.</p>
                  ) : (
                    <pre class="value" tabIndex={0}>
                      {values.map((each) => writeJson(each)).join('\n')}
                    </pre>
                  )
                }
              </Loaded>
            </section>
          </div>
          <Tail id={id} />
        </>
      )}
    </Loaded>
  )
}
