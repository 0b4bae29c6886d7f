/**
 * Where a run stands, kept in Redis beside the stream and moved by the script that appends: whoever finds it elsewhere than it thought has
 * been overtaken, and appends nothing. A delivery larger than one script leaves word of how far it came, so that what comes again goes on
 * behind it; the position itself moves with the last script alone, because its note counts the whole range.
 */
import { z } from 'zod'
import type { Delivery } from '../sink.ts'

/** Of the rows of a delivery those are in the stream whose record is before `offset`, and the first `rows` of that record's. */
export type Appended = { offset: number; rows: number }
export type KeptState = { nextOffset: bigint; revision: number; appended: Appended | undefined; note: string }

/** A hash for each run, so that it is removed at once; not shared with other runs. */
export const positionsKey = (runId: string): string => `dps:${runId}`
export const placeField = ({ topicId, partition }: Pick<Delivery, 'topicId' | 'partition'>): string => `${topicId}:${partition}`

export const printAppended = (appended: Appended | undefined): string => (appended ? `${appended.offset}:${appended.rows}` : '-')

/** The state as one value: next offset, revision, what is appended beyond, and the note, which may hold anything. */
export const printState = ({ nextOffset, revision, appended, note }: KeptState): string =>
  `${nextOffset} ${revision} ${printAppended(appended)} ${note}`

const State = z
  .string()
  .regex(/^\d+ \d+ (-|\d+:\d+) [^]*$/)
  .transform((text): KeptState => {
    const [next = '', revision = '', appended = ''] = text.split(' ', 3)
    const [offset, rows] = appended.split(':')
    return {
      nextOffset: BigInt(next),
      revision: Number(revision),
      appended: rows === undefined ? undefined : { offset: Number(offset), rows: Number(rows) },
      note: text.slice(next.length + revision.length + appended.length + 3),
    }
  })

/** Throws for a value that we did not write. */
export function readState(value: unknown): KeptState {
  const state = State.safeParse(value)
  if (!state.success) throw new Error('the position that is kept in Redis can’t be read: somebody else has written it')
  return state.data
}

/** KEYS: the positions. ARGV: field, state where there is none or one of a revision before ARGV[3]. Set in any case, so that a missing right shows before anything is appended. */
export const POSITION_SCRIPT = `
local state = redis.call('HGET', KEYS[1], ARGV[1]) or ARGV[2]
local revision = string.match(state, '^%d+ (%d+) ')
if revision and tonumber(revision) < tonumber(ARGV[3]) then state = ARGV[2] end
redis.call('HSET', KEYS[1], ARGV[1], state)
return state`

/**
 * KEYS: the stream, the positions. ARGV: position's field, from, revision, what is appended already, next offset, what is appended then,
 * '1' where the note changes, note, entry's field, length ('' for all), rows as lines. Answers nil, or the state that was found instead.
 * Redis undoes nothing when a command fails: what may fail for its right or its key comes before the first entry.
 */
export const APPEND_SCRIPT = `
local found = redis.call('HGET', KEYS[2], ARGV[1])
if not found then return '' end
local at, revision, appended, note = string.match(found, '^(%d+) (%d+) (%S+) (.*)$')
if at ~= ARGV[2] or tonumber(revision) > tonumber(ARGV[3]) or appended ~= ARGV[4] then return found end
redis.call('HSET', KEYS[2], ARGV[1], found)
for line in string.gmatch(ARGV[11], '([^\\n]*)\\n') do
  if ARGV[10] == '' then redis.call('XADD', KEYS[1], '*', ARGV[9], line)
  else redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[10], '*', ARGV[9], line) end
end
if ARGV[7] == '1' then note = ARGV[8] end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[5] .. ' ' .. ARGV[3] .. ' ' .. ARGV[6] .. ' ' .. note)
return false`
