/** Polls a web service for records. Only split 0 reads; a poll's records and the position after them are committed together. */
import { reasonOf } from '../../errors/reason-of.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { ConfigRefused, type ConnectorContext } from '../connector.ts'
import { createBlockBuilder } from '../record-block.ts'
import { refusalIn } from '../refusal.ts'
import type { OpenSource, SourceRead } from '../source.ts'
import type { HttpSourceConfig } from './connector.ts'
import { bodyOf, openHttpClient } from '../http-client.ts'
import { openAnswerReader } from './poll-thread.ts'
import type { PolledBlock } from './polled-records.ts'

/** Where the next request starts: a cursor or page and how many of its records were read (`behind`), or the last response's validators. */
const Position = z.object({
  cursor: z.string().optional(),
  page: z.number().optional(),
  behind: z.number().optional(),
  etag: z.string().optional(),
  modified: z.string().optional(),
})
type Position = z.infer<typeof Position>

const ANSWER_BYTES_MAX = 32 << 20
/** What services answer for the page behind the last one. */
const NO_PAGE = new Set([400, 404, 416])
const NOTHING: PolledBlock = { block: createBlockBuilder(0).take(), count: 0, cursor: undefined }
const BACKOFF_MS = 1000
/** Failures in a row that are tried again without a word. */
const FAILURES_MAX = 2

/** Opens the source: split 0 reads the pages, one after the other. */
export async function openHttpSource(config: HttpSourceConfig, context: ConnectorContext): Promise<OpenSource> {
  const client = openHttpClient(config, context)
  const reader = openAnswerReader()
  const { paging } = config
  /** In a row, whichever read they were of. */
  let failures = 0

  function urlOf(position: Position): string {
    const url = new URL(config.url)
    if (paging.kind === 'cursor' && position.cursor !== undefined) url.searchParams.set(paging.parameter, position.cursor)
    if (paging.kind === 'page') url.searchParams.set(paging.parameter, String(position.page ?? paging.first))
    return url.toString()
  }

  /** `isAhead`: the page may not be there yet. */
  async function poll(position: Position, signal: AbortSignal, isAhead = false) {
    const conditions =
      paging.kind === 'whole'
        ? {
            ...(position.etag === undefined ? {} : { 'if-none-match': position.etag }),
            ...(position.modified === undefined ? {} : { 'if-modified-since': position.modified }),
          }
        : {}
    const answer = await client.request(
      urlOf(position),
      { method: 'GET', headers: { accept: 'application/json, application/x-ndjson', ...conditions } },
      signal,
    )
    if (answer.status === 304) return { ...NOTHING, answer }
    if (isAhead && NO_PAGE.has(answer.status)) {
      await answer.body?.cancel()
      return { ...NOTHING, answer }
    }
    if (answer.status >= 400 && answer.status < 500 && ![408, 409, 425, 429].includes(answer.status))
      throw new ConfigRefused(`the web service answered ${answer.status}`)
    if (!answer.ok) throw new Error(`the web service answered ${answer.status}`)
    const answered = {
      body: await bodyOf(answer, ANSWER_BYTES_MAX),
      contentType: answer.headers.get('content-type') ?? '',
      pointer: config.records,
      behind: position.behind ?? 0,
      next: paging.kind === 'cursor' ? paging.next : undefined,
    }
    return { ...(await reader.read(answered, signal)), answer }
  }

  /** The position after a poll, and whether to poll again at once. */
  function behind(position: Position, { count, cursor, answer }: Awaited<ReturnType<typeof poll>>): { next: Position; hasMore: boolean } {
    if (paging.kind === 'cursor') {
      // Some services send an empty cursor if there is no next page.
      const isNew = cursor !== undefined && cursor !== '' && cursor !== position.cursor
      // The last page is requested again until it has a next cursor; `behind` counts its records already read.
      return isNew ? { next: { cursor }, hasMore: true } : { next: { ...position, behind: count }, hasMore: false }
    }
    if (paging.kind === 'page') {
      const page = position.page ?? paging.first
      return { next: { page, behind: count }, hasMore: false }
    }
    if (answer.status === 304) return { next: position, hasMore: false }
    return {
      next: { etag: answer.headers.get('etag') ?? undefined, modified: answer.headers.get('last-modified') ?? undefined },
      hasMore: false,
    }
  }

  return {
    async *read(split, from, _seen, signal) {
      if (split.index !== 0) return
      let position: Position = from === undefined ? {} : Position.parse(JSON.parse(from))
      while (!signal.aborted) {
        let hasMore = false
        try {
          const polled = await poll(position, signal)
          const { block } = polled
          const { next, hasMore: more } = behind(position, polled)
          hasMore = more
          if (block.count > 0 || JSON.stringify(next) !== JSON.stringify(position)) {
            const read: SourceRead = { block, position: JSON.stringify(next) }
            yield read
          }
          position = next
          // A page without new records may be full: the next page exists once it has records.
          if (paging.kind === 'page' && polled.count > 0 && block.count === 0) {
            const following = await poll({ page: (position.page ?? paging.first) + 1 }, signal, true)
            // Records that arrived meanwhile went to this page first, so it is requested once more before moving on.
            const again = following.count > 0 ? await poll(position, signal) : undefined
            if (again && again.count === (position.behind ?? 0)) {
              position = { page: (position.page ?? paging.first) + 1, behind: 0 }
              hasMore = true
            }
          }
          failures = 0
        } catch (error) {
          if (signal.aborted) return
          // From then on the pipeline shows the reason, and starts over at the position with a backoff of its own.
          if (refusalIn(error) || ++failures > FAILURES_MAX) throw error
          context.log('warn', `the web service: ${reasonOf(error)}`)
          await sleep(BACKOFF_MS * failures, undefined, { signal }).catch(() => {})
          continue
        }
        if (!hasMore) await sleep(config.poll_interval_ms, undefined, { signal }).catch(() => {})
      }
    },
    async close() {
      await reader.close()
      await client.close()
    },
  }
}
