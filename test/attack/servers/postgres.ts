/** A Postgres server that lies: in its messages, its login, its results, and its replication stream. */
import type { Socket } from 'node:net'
import { sendForever, type SocketLie } from './lie.ts'
import {
  converse,
  COPY_DONE,
  COPY_IN,
  described,
  hex,
  honest,
  int16,
  int32,
  result,
  row,
  said,
  text,
  type Column,
} from './postgres-server.ts'
import { BEGIN, change, READY, RELATION, SHAPE, TEXT, WELCOME } from './postgres-server.ts'

/** Answers whatever the client sends first. */
const first = (send: (socket: Socket, asked: Buffer) => void) => (socket: Socket) =>
  void socket.once('data', (asked) => send(socket, asked))
const firstBytes = (bytes: Buffer) => first((socket) => socket.write(bytes))
/** Refuses connections whose first message has the word; is honest to the others. */
const refusing = (word: string, refusal: Buffer) =>
  first((socket, asked) => {
    if (asked.includes(word)) return void socket.write(refusal)
    converse(socket, honest)
    socket.emit('data', asked)
  })
/** Is honest until it is asked for something that matches. */
const until = (pattern: RegExp, send: (socket: Socket) => void) => (socket: Socket) =>
  converse(socket, (query) => (pattern.test(query) ? void send(socket) : honest(query)))
/** Is honest until replication starts, then streams the messages. */
const streams = (send: (socket: Socket) => void) =>
  until(/^START_REPLICATION/, (socket) => {
    socket.write(said('W', hex('00 0000')))
    send(socket)
  })

const END = Buffer.from('\0')
const SASL = said('R', int32(10), text('SCRAM-SHA-256'), END)
const REFUSED = said('E', text('SFATAL'), text('C28P01'), text('Mno'), END)
/** Asks for SCRAM, then answers the client's first message; `next` gets its nonce. */
const scram = (next: (socket: Socket, nonce: string) => void) =>
  first((socket) => {
    socket.write(SASL)
    socket.once('data', (asked: Buffer) => next(socket, /r=([^,\0]+)/.exec(asked.toString('latin1'))?.[1] ?? ''))
  })
const goesOn = (data: string): Buffer => said('R', int32(11), Buffer.from(data))

/** Is honest until rows come, then says something in place of asking for them, and nothing once it has them all. */
const copies = (send: (socket: Socket) => void) => (socket: Socket) =>
  converse(socket, (query) => {
    if (query.startsWith('COPY')) return void send(socket)
    return query === COPY_DONE ? undefined : honest(query)
  })

/** A tuple whose every second value has a length that leads back to the first one. */
function backwardTuple(bytes: number): Buffer {
  const value = Buffer.concat([Buffer.from('t'), int32(bytes), Buffer.alloc(bytes, 'a')])
  return Buffer.concat([Buffer.from('I'), int32(1), Buffer.from('N'), int16(32767), value, Buffer.from('t'), int32(-(bytes + 10))])
}

/** Whole results, as they follow on a query with parameters. */
const answered = (...parts: Buffer[]): Buffer => Buffer.concat([said('1'), said('2'), ...parts, READY])
const many = (count: number, part: Buffer): Buffer => Buffer.concat(Array.from({ length: count }, () => part))
/** Says something, then sends the part again and again. */
function sayForever(socket: Socket, said: Buffer, part: Buffer): void {
  socket.write(said)
  sendForever(socket, part)
}

const ODD_TYPES = [114, 3802, 1001, 1007, 199, 1184, 1186, 17, 600, 718].map((id): Column => [`c${id}`, id])
const oddRow = (value: string): string[] => ODD_TYPES.map(() => value)
const PROTO = '{"name":null,"type_id":{},"key_place":0,"toString":1}'
const JUNK = Buffer.alloc(64 << 10, 'x')

const LOGIN: readonly SocketLie[] = [
  { name: 'auth-truncated', way: 'check sink', why: 'an Authentication message without its code', answer: firstBytes(hex('52 00000004')) },
  { name: 'error-without-end', way: 'check sink', why: 'an error without its terminator', answer: firstBytes(hex('45 00000004')) },
  {
    name: 'length-zero',
    way: 'check sink',
    why: 'each byte is a message',
    answer: first((socket) => sendForever(socket, Buffer.alloc(64 << 10))),
  },
  {
    name: 'length-negative',
    way: 'check sink',
    why: 'a length of -1, read as 4 GiB, and bytes without end',
    answer: first((socket) => sayForever(socket, hex('52 ffffffff'), JUNK)),
  },
  {
    name: 'scram-first-x',
    way: 'check sink',
    why: 'the server’s first message is x',
    answer: scram((socket) => socket.write(goesOn('x'))),
  },
  {
    name: 'scram-iterations-max',
    way: 'check sink',
    why: 'SCRAM with 2^31-1 iterations',
    answer: scram((socket, nonce) => socket.write(goesOn(`r=${nonce}x,s=c2FsdA==,i=2147483647`))),
  },
  {
    name: 'scram-many-first-messages',
    way: 'check sink',
    why: 'the first message a thousand times, within the limit of iterations: each derives a key in the thread pool',
    answer: scram((socket, nonce) => socket.write(many(1000, goesOn(`r=${nonce}x,s=c2FsdA==,i=100000`)))),
  },
  {
    name: 'sasl-refused-then-reset',
    way: 'check sink',
    why: 'an error after the login’s start, and a reset right behind it',
    answer: scram((socket) => void socket.write(REFUSED, () => socket.resetAndDestroy())),
  },
  {
    name: 'password-requests-without-end',
    way: 'check sink',
    why: 'asks for the password again and again, and never reads: the answers wait in memory',
    answer: first((socket) => sendForever(socket.pause(), many(5000, said('R', int32(3))))),
  },
  {
    name: 'error-of-empty-fields',
    way: 'check sink',
    why: 'an error whose fields are all empty, before and after the login',
    answer: firstBytes(Buffer.concat([said('E', text('S'), text('C'), text('M'), END), WELCOME, said('E', END)])),
  },
  {
    name: 'error-of-64-megabytes',
    way: 'check sink',
    why: 'a long text, which goes into the answer, the log and the observations',
    answer: first((socket) => socket.write(said('E', text(`M${'x'.repeat(64 << 20)}`), END))),
  },
  {
    name: 'refused-but-open',
    way: 'read',
    why: 'a client that does not close the connection leaks it; only sources send options, the check is let in',
    answer: refusing('options', REFUSED),
  },
  { name: 'silence', way: 'check sink', why: 'says nothing', answer: () => {} },
]

const RESULTS: readonly SocketLie[] = [
  {
    name: 'notice-without-end',
    way: 'check source',
    why: 'a notice without its terminator, after the login',
    answer: until(/./, (socket) => socket.write(hex('4e 00000005 53'))),
  },
  {
    name: 'length-max',
    way: 'read',
    why: 'a row that claims 2^31-1 bytes, and as many as are taken',
    answer: until(/ORDER BY "id"/, (socket) => sayForever(socket, hex('44 7fffffff'), JUNK)),
  },
  {
    name: 'columns-32767',
    way: 'check sink',
    why: 'a description that ends before its columns do',
    answer: until(/./, (socket) => socket.write(said('T', int16(32767)))),
  },
  {
    name: 'columns-65535',
    way: 'check sink',
    why: '65535 columns, which is -1 when signed, then a row of one',
    answer: until(/./, (socket) => socket.write(answered(said('T', int16(65535)), row(['id']), said('C', text('SELECT 1'))))),
  },
  {
    name: 'row-of-minus-two',
    way: 'check source',
    why: 'a row of -2 fields',
    answer: until(/./, (socket) => socket.write(said('D', int16(-2)))),
  },
  {
    name: 'notices-without-end',
    way: 'check sink',
    why: 'notices for ever instead of an answer',
    answer: until(/./, (socket) => sendForever(socket, many(500, said('N', text('Mx'), END)))),
  },
  {
    name: 'rows-without-end',
    way: 'check sink',
    why: 'rows for ever: the driver keeps them until the query ends',
    answer: until(/./, (socket) => sayForever(socket, described([['name', TEXT]]), many(200, row(['x'.repeat(200)])))),
  },
  {
    name: 'types-that-throw',
    way: 'check source',
    why: 'values that their types’ parsers refuse: JSON, nested arrays, dates, intervals, bytes',
    answer: until(/./, (socket) => socket.write(answered(result(ODD_TYPES, oddRow('{'.repeat(20_000)), oddRow('<('))))),
  },
  {
    name: 'column-named-proto',
    way: 'check source',
    why: 'the row gets a prototype of the server’s choice',
    answer: until(/./, (socket) => socket.write(answered(result([['__proto__', 114]], [PROTO])))),
  },
  {
    name: 'reset-in-a-message',
    way: 'check source',
    why: 'a reset in the middle of a description',
    answer: until(/./, (socket) => void socket.write(described(SHAPE).subarray(0, 20), () => socket.resetAndDestroy())),
  },
]

const REPLICATION: readonly SocketLie[] = [
  {
    name: 'error-behind-ready',
    way: 'read',
    why: 'an error in the same packet as the replication connection’s welcome, before anybody listens for errors',
    answer: refusing('replication', Buffer.concat([WELCOME, REFUSED])),
  },
  {
    name: 'change-too-short',
    way: 'read',
    why: 'a change of one byte',
    answer: streams((socket) => socket.write(said('d', Buffer.from('w')))),
  },
  {
    name: 'change-of-unknown-kinds',
    way: 'read',
    why: 'messages of an unknown kind for ever: the library prints each of them',
    answer: streams((socket) => sendForever(socket, many(100, said('d', Buffer.from('?'))))),
  },
  {
    name: 'tuple-that-goes-back',
    way: 'read',
    why: 'a tuple whose negative lengths lead back to half a megabyte: 16 thousand copies of it',
    answer: streams((socket) => socket.write(Buffer.concat([BEGIN, RELATION, change(backwardTuple(1 << 19))]))),
  },
  {
    name: 'lsn-of-nonsense',
    way: 'read',
    why: 'the slot’s LSN is not one',
    answer: (socket) =>
      converse(socket, (query) => (query.includes('pg_create_logical') ? result([['lsn', TEXT]], ['zz/zz']) : honest(query))),
  },
]

const toCommit = (name: string, why: string, send: (socket: Socket) => void): SocketLie => ({
  name,
  why,
  way: 'write',
  answer: until(/^COMMIT$/, send),
})

const WRITES: readonly SocketLie[] = [
  toCommit('rolled-back', 'takes the rows, and says at the commit that it rolled back', (socket) =>
    socket.write(Buffer.concat([said('C', text('ROLLBACK')), READY])),
  ),
  toCommit('commit-not-completed', 'is ready for the next query without a word about the commit', (socket) => socket.write(READY)),
  toCommit('commit-cut', 'half of the answer to the commit', (socket) => socket.end(said('C', text('COMMIT')).subarray(0, 8))),
  {
    name: 'copy-cut',
    way: 'write',
    why: 'half of the answer to the rows',
    answer: until(new RegExp(`^${COPY_DONE}$`), (socket) => socket.end(said('C', text('COPY 1')).subarray(0, 8))),
  },
  {
    name: 'copy-refused-in-the-middle',
    way: 'write',
    why: 'asks for rows, then an error, and never says that it is ready again',
    answer: copies((socket) => socket.write(Buffer.concat([COPY_IN, REFUSED]))),
  },
  {
    name: 'copy-ready-at-once',
    way: 'write',
    why: 'more rows than there are, and ready for the next query, without having asked for one',
    answer: copies((socket) => socket.write(Buffer.concat([said('C', text('COPY 99999999999999999999')), READY]))),
  },
]

/** Takes what is written. */
export const HONEST: SocketLie = { name: 'honest', why: 'no lie', way: 'write', answer: (socket) => converse(socket, honest) }
export const LIES: readonly SocketLie[] = [
  ...LOGIN,
  ...RESULTS,
  ...WRITES,
  ...REPLICATION.map((lie) => ({ ...lie, config: () => ({ mode: 'replication' }) })),
]
