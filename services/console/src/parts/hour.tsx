/** The last hour of a pipeline as two small curves with their axes: records a second, and lag. */
import type { GetPipelineHistoryResponse } from '../../../../clients/typescript/src/generated/types.ts'
import { now } from '../clock.ts'
import { compact, rate } from '../format.ts'
import { useQuery } from '../query.ts'
import { Time } from './time.tsx'

const REFRESH_MS = 10_000
const HOUR_MS = 3_600_000
const [WIDTH, HEIGHT] = [360, 60]

type Point = GetPipelineHistoryResponse['points'][number]

/** A value for each ten seconds of the hour; those without a point had no records. */
function valuesOf(points: Point[], seconds: number, nowMs: number, of: (point: Point) => number, isKept: boolean): number[] {
  const steps = 3600 / seconds
  const values = Array.from({ length: steps }, () => Number.NaN)
  const last = Math.floor(nowMs / 1000 / seconds)
  for (const point of points) {
    const index = steps - 1 - (last - Math.floor(Date.parse(point.at) / 1000 / seconds))
    if (index >= 0 && index < steps) values[index] = of(point)
  }
  let before = 0
  return values.map((value) => (before = Number.isNaN(value) ? (isKept ? before : 0) : value))
}

function Curve({
  name,
  values,
  format,
  nowMs,
  note,
}: {
  name: string
  values: number[]
  /** With its unit. */
  format(value: number): string
  nowMs: number
  note?: string | undefined
}) {
  const largest = Math.max(...values)
  const top = largest || 1
  const path = values
    .map((value, index) => `${((index / (values.length - 1)) * WIDTH).toFixed(1)},${(HEIGHT - (value / top) * (HEIGHT - 2)).toFixed(1)}`)
    .join(' ')
  return (
    <figure class="curve">
      <figcaption>
        {name} {note && <span class="bad">{note}</span>}
      </figcaption>
      <small>
        <span>{format(top)}</span> <span>0</span>
      </small>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${name} in the last hour: at most ${format(largest)}`}
      >
        <polyline points={path} />
      </svg>
      <small class="times">
        <Time at={new Date(nowMs - HOUR_MS).toISOString()} /> <Time at={new Date(nowMs).toISOString()} />
      </small>
    </figure>
  )
}

export function Hour({ id }: { id: string }) {
  const { data } = useQuery<GetPipelineHistoryResponse>(`/pipelines/${id}/history`, REFRESH_MS)
  if (!data || data.points.length === 0) return null
  const { points, interval_seconds } = data
  // By the clock that its times are shown by: that of a moment later would make the hour's start 59 minutes ago.
  const nowMs = now.peek()
  const rates = valuesOf(points, interval_seconds, nowMs, (point) => point.in / interval_seconds, false)
  const lags = valuesOf(points, interval_seconds, nowMs, ({ lag }) => lag, true)
  const failed = points.reduce((sum, point) => sum + point.failed, 0)
  return (
    <section aria-label="The last hour" class="columns">
      <Curve
        name="Records a second"
        values={rates}
        format={(value) => `${rate(value)}/s`}
        nowMs={nowMs}
        note={failed > 0 ? `${compact(failed)} failed` : undefined}
      />
      <Curve name="Lag" values={lags} format={(value) => `${compact(value)} ${value === 1 ? 'offset' : 'offsets'}`} nowMs={nowMs} />
    </section>
  )
}
