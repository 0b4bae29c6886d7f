/**
 * Connectors at work on a large round. They run in a runner, whose main thread also sends heartbeats and moves other pipelines' records:
 * they hold it for no longer than a few milliseconds at a time, and write what they would write at once.
 */
import { expect, it } from 'vitest'
import { findConnector } from '../../shared/connectors/catalogue.ts'
import type { Rows } from '../../shared/connectors/sink.ts'
import { partsByFolder } from '../../shared/connectors/storage-bucket/group-by-folder.ts'
import { service, unique } from '../harness/client.ts'
import { contextFor, deliveryOf, rowsOf } from '../harness/conformance.ts'
import { openS3 } from '../harness/connectors.ts'
import { atOnce, longestTurn } from '../harness/longest-turn.ts'
import { limitMs } from '../harness/machine-speed.ts'

/** Most of a round's work that one turn may take. */
const TURN_SHARE = 0.4
const { signal } = new AbortController()

const openSink = async (id: string, config: unknown, context = contextFor()) => (await findConnector(id)!.sink!.open!())(config, context)
/** Rows as lanes hand them over, some thousands at a time. */
function piecesOf(format: Parameters<typeof rowsOf>[0], values: readonly string[]): Rows[] {
  const starts = Array.from({ length: Math.ceil(values.length / 20_000) }, (_, index) => index * 20_000)
  return starts.flatMap((from) => rowsOf(format, values.slice(from, from + 20_000), from))
}

it('a bucket gets rows by the day of their records', { timeout: limitMs(60_000) }, async () => {
  const s3 = openS3()
  const [context, prefix, key] = [contextFor(), `${unique('days')}/`, 'dt={date}']
  const sink = await openSink('conn_storage_bucket', { bucket: service().bucket.name, prefix, key }, context)
  const values = Array.from({ length: 200_000 }, (_, n) => `{"n":${n}}`)
  const pieces = piecesOf(sink.rows, values)
  // Neighbours are of different days: every row is copied by itself.
  for (const { times, offsets } of pieces) for (const row of times.keys()) times[row] = Date.UTC(2026, 10, 20 + (offsets[row]! % 2))
  // The first write also starts the thread and the client.
  await sink.write(deliveryOf(context, 0, 1), rowsOf(sink.rows, ['{"n":0}'], 0), signal)
  const { given, longestMs } = await longestTurn(() => sink.write(deliveryOf(context, 1, values.length), pieces, signal))
  expect(given).toEqual({ kind: 'delivered' })
  for (const [day, date] of ['2026-11-20', '2026-11-21'].entries()) {
    const keys = (await s3.keys(`${prefix}dt=${date}/`)).filter((found) => found.includes('00001-'))
    const wanted = values.filter((_, n) => n % 2 === day).map((value) => `${value}\n`)
    expect(Buffer.concat(await Promise.all(keys.map(s3.get))).equals(Buffer.from(wanted.join('')))).toBe(true)
  }
  expect(longestMs).toBeLessThan(atOnce(() => partsByFolder(pieces, key)).ms * TURN_SHARE)
  await sink.close()
  s3.close()
})
