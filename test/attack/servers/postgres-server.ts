/** A Postgres server, as much as the connector needs. Formats: https://www.postgresql.org/docs/current/protocol-message-formats.html */
import type { Socket } from 'node:net'

export const int16 = (value: number): Buffer => Buffer.from([(value >> 8) & 0xff, value & 0xff])
export const int32 = (value: number): Buffer => Buffer.from([value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff])
export const text = (value: string): Buffer => Buffer.from(`${value}\0`)
export const hex = (digits: string): Buffer => Buffer.from(digits.replaceAll(' ', ''), 'hex')

/** One of the server's messages, with its true length. */
export function said(code: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from(code), int32(body.length + 4), body])
}

export const READY = said('Z', Buffer.from('I'))
export const WELCOME = Buffer.concat([said('R', int32(0)), READY])

export type Column = readonly [name: string, typeId: number]

export const described = (columns: readonly Column[]): Buffer =>
  said(
    'T',
    int16(columns.length),
    ...columns.map(([name, id]) => Buffer.concat([text(name), hex('00000000 0000'), int32(id), hex('ffff ffffffff 0000')])),
  )
export const row = (values: readonly (string | null)[]): Buffer =>
  said(
    'D',
    int16(values.length),
    ...values.map((value) => (value === null ? int32(-1) : Buffer.concat([int32(Buffer.byteLength(value)), Buffer.from(value)]))),
  )
export const result = (columns: readonly Column[], ...rows: (string | null)[][]): Buffer =>
  Buffer.concat([described(columns), ...rows.map(row), said('C', text(`SELECT ${rows.length}`))])

export const TEXT = 25
export const INT = 23
const BOOL = 16
const TEXTS = 1009
export const SHAPE: readonly Column[] = [
  ['name', TEXT],
  ['type_id', INT],
  ['type', TEXT],
  ['key_place', INT],
]

/** A table as a source that follows its changes asks for it, and as a sink does. */
const LOGGED: readonly Column[] = [
  ['schema', TEXT],
  ['name', TEXT],
  ['isPartitioned', BOOL],
  ['identity', TEXT],
  ['is_key', BOOL],
  ['generated', TEXTS],
]
const TARGET: readonly Column[] = [
  ['name', TEXT],
  ['type', TEXT],
  ['sql_type', TEXT],
  ['identity', TEXT],
  ['set_by', TEXT],
]

/** Asks for the rows of a COPY. */
export const COPY_IN = said('G', hex('00 0001 0000'))
/** What `reply` is asked once all rows of a COPY have come. */
export const COPY_DONE = 'CopyDone'

/** What a server with a table `t` of one column, `id`, answers to the service's queries. */
export function honest(query: string): Buffer {
  if (query.includes('key_place')) return result(SHAPE, ['id', '23', 'integer', '0'])
  if (query.includes('relreplident')) return result(LOGGED, ['public', 't', 'f', 'd', 't', '{}'])
  if (query.includes('pg_publication_rel')) return result([['found', INT]], ['1'])
  if (query.includes('set_by')) return result(TARGET, ['id', 'int4', 'integer', '', null])
  if (query.includes('has_table_privilege')) return result([['may', BOOL]], ['t'])
  if (query.includes('pg_create_logical')) return result([['lsn', TEXT]], ['0/10'])
  if (query.includes('active_pid, wal'))
    return result(
      [
        ['active_pid', INT],
        ['wal_status', TEXT],
      ],
      [null, 'reserved'],
    )
  if (query.includes('wal_level'))
    return result(
      [
        ['level', TEXT],
        ['may', BOOL],
      ],
      ['logical', 't'],
    )
  if (query.includes('server_version')) return result([['server_version_num', TEXT]], ['160000'])
  if (query.includes('next_offset,'))
    return result(
      [
        ['next_offset', TEXT],
        ['note', TEXT],
      ],
      ['0', ''],
    )
  if (query.includes('ORDER BY "id"')) return result([['id', INT]])
  if (query.startsWith('UPDATE dps_positions')) return said('C', text('UPDATE 1'))
  if (query.startsWith('COPY')) return COPY_IN
  if (query === COPY_DONE) return said('C', text('COPY 1'))
  if (/^(BEGIN|COMMIT|ROLLBACK)$/.test(query)) return said('C', text(query))
  return said('C', text('SELECT 0'))
}

/** Speaks with a client that logs in and asks. `reply` returns the answer to a query; undefined if it has sent its own. */
export function converse(socket: Socket, reply: (query: string) => Buffer | undefined, welcome = WELCOME): void {
  let bytes: Buffer = Buffer.alloc(0)
  let isStarted = false
  let parsed = ''
  const answer = (query: string, before: Buffer): void => {
    const answered = reply(query)
    if (answered === COPY_IN) socket.write(COPY_IN)
    else if (answered) socket.write(Buffer.concat([before, answered, READY]))
  }
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
    for (;;) {
      const start = isStarted ? 1 : 0
      if (bytes.length < start + 4 || bytes.length < start + bytes.readInt32BE(start)) return
      const size = start + bytes.readInt32BE(start)
      const code = isStarted ? String.fromCharCode(bytes[0]!) : ''
      const words = bytes.toString('utf8', start + 4, size).split('\0')
      bytes = bytes.subarray(size)
      if (!isStarted) socket.write(welcome)
      isStarted = true
      if (code === 'Q') answer(words[0] ?? '', Buffer.alloc(0))
      if (code === 'P') parsed = words[1] ?? ''
      if (code === 'S') answer(parsed, Buffer.concat([said('1'), said('2')]))
      if (code === 'c') answer(COPY_DONE, Buffer.alloc(0))
      if (code === 'X') socket.end()
    }
  })
}

/** A change of the table in pgoutput's form, as XLogData. */
export const change = (...parts: Buffer[]): Buffer => said('d', Buffer.from('w'), Buffer.alloc(24), ...parts)
export const RELATION = change(
  Buffer.from('R'),
  int32(1),
  text('public'),
  text('t'),
  Buffer.from('d'),
  int16(1),
  hex('01'),
  text('id'),
  int32(INT),
  int32(-1),
)
export const BEGIN = change(Buffer.from('B'), Buffer.alloc(20))
