/**
 * A run's positions, kept in Redis beside the stream and moved by the script that appends. A processor that finds another position than it
 * expects has been overtaken, and appends nothing. A delivery larger than one script stores its progress, so that a retry continues from
 * there; the position itself moves only with the last script, because its note counts the whole range.
 */
import { z } from 'zod'
import type { Delivery } from '../sink.ts'

/** Progress of a delivery: in the stream are all rows of records before `offset`, and the first `rows` rows of the record at `offset`. */
export type Appended = { offset: number; rows: number }
/** What Redis keeps of a partition: the next offset, the revision that wrote there, what was appended last, and the counters. */
export type KeptState = { nextOffset: bigint; revision: number; appended: Appended | undefined; note: string }

/** One hash per run, so that one command removes all positions of a run and none of another. */
export const positionsKey = (runId: string): string => `dps:${runId}`
/** Name of the field that keeps a partition’s position. */
export const positionField = ({ topicId, partition }: Pick<Delivery, 'topicId' | 'partition'>): string => `${topicId}:${partition}`

/** What was appended last, as it is kept; `-` for nothing. */
export const printAppended = (appended: Appended | undefined): string => (appended ? `${appended.offset}:${appended.rows}` : '-')

/** The state as one value: next offset, revision, progress beyond that offset, and the note, which may contain anything. */
export const printState = ({ nextOffset, revision, appended, note }: KeptState): string =>
  `${nextOffset} ${revision} ${printAppended(appended)} ${note}`

/** No offset has more digits. */
const State = z
  .string()
  .regex(/^\d{1,18} \d{1,9} (-|\d{1,15}:\d{1,9}) [^]*$/)
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

/** Throws for a value that `printState` did not write. */
export function readState(value: unknown): KeptState {
  const state = State.safeParse(value)
  if (!state.success) throw new Error('the position kept in Redis can’t be read: another program has written it')
  return state.data
}

/**
 * KEYS: the positions. ARGV: field, the state to set if there is none or one of a revision before ARGV[3], that revision. The field is
 * written in any case, so that a missing right shows before anything is appended.
 */
export const POSITION_SCRIPT = `
local state = redis.call('HGET', KEYS[1], ARGV[1]) or ARGV[2]
local revision = string.match(state, '^%d+ (%d+) ')
if revision and tonumber(revision) < tonumber(ARGV[3]) then state = ARGV[2] end
redis.call('HSET', KEYS[1], ARGV[1], state)
return state`

/**
 * KEYS: the stream, the positions. ARGV: position's field, from, revision, progress expected, next offset, progress afterwards, '1' if the
 * note changes, note, entry's field, maximum length ('' for none), rows as lines. Returns `appendedAnswer`, or the state found instead (''
 * for none). Redis undoes nothing when a command fails, so the HSET, which may lack a right, is tried before the first XADD.
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
return 'appended ' .. ARGV[5] .. ' ' .. ARGV[6]`

/** What the script answers once it has appended. Not nil: the driver takes the first half of a nil, behind which the connection ended. */
export const appendedAnswer = (nextOffset: bigint, appended: Appended | undefined): string =>
  `appended ${nextOffset} ${printAppended(appended)}`
