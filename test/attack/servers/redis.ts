/** A Redis server that lies. Protocol: https://redis.io/docs/latest/develop/reference/protocol-spec/ */
import type { Socket } from 'node:net'
import { drip, sendForever, type SocketLie } from './lie.ts'

type Reply = string | Buffer | ((socket: Socket, asked: string) => void)

const COMMAND = /\r\n(AUTH|SELECT|PING|TYPE|XREAD|XREVRANGE|EVAL)\r\n/i
/** The command of the script that appends, by which it differs from the one that reads the position. */
const APPENDS = "'XADD'"
const bulk = (text: string): string => `$${Buffer.byteLength(text)}\r\n${text}\r\n`
/** What the script that appends answers (`shared/connectors/redis/positions.ts`): the next offset and the progress that it was given. */
function appended(socket: Socket, asked: string): void {
  const parameters = asked.split('\r\n').filter((_, line) => line > 0 && line % 2 === 0)
  const [nextOffset, progress] = parameters.slice(APPENDED_FROM)
  socket.write(bulk(`appended ${nextOffset} ${progress}`))
}
/** EVAL, the script, the number of its keys, two keys, and four other parameters come before, in the order of `positions.ts`. */
const APPENDED_FROM = 9

const REPLIES: Readonly<Record<string, Reply>> = {
  AUTH: '+OK\r\n',
  SELECT: '+OK\r\n',
  PING: '+PONG\r\n',
  TYPE: '+stream\r\n',
  XREAD: (socket) => void setTimeout(() => socket.writable && socket.write('*-1\r\n'), 500),
  XREVRANGE: '*0\r\n',
  EVAL: '$6\r\n0 1 - \r\n',
  APPEND: appended,
}

/** Answers one command after another, honestly unless there is another reply to it. */
const lying = (replies: Readonly<Record<string, Reply>>) => (socket: Socket) =>
  void socket.on('data', (asked: Buffer) => {
    const text = asked.toString('latin1')
    const command = COMMAND.exec(text)?.[1]?.toUpperCase() ?? ''
    const reply = { ...REPLIES, ...replies }[command === 'EVAL' && text.includes(APPENDS) ? 'APPEND' : command]
    if (typeof reply === 'function') reply(socket, text)
    else if (reply !== undefined && socket.writable) socket.write(reply)
  })
const listOf = (...items: string[]): string => `*${items.length}\r\n${items.join('')}`
/** What XREAD answers: the stream's name and its entries. */
const entries = (...items: string[]): string => listOf(listOf(bulk('s'), listOf(...items)))
const then = (first: string, part: Buffer) => (socket: Socket) => {
  socket.write(first)
  sendForever(socket, part)
}
/** Makes a long reply only when it is asked for. */
const late = (make: () => string) => (socket: Socket) => void socket.write(make())
const JUNK = Buffer.alloc(64 << 10, 'x')
const DIGITS = Buffer.alloc(64 << 10, '9')
const password = () => ({ password: { $secret: 'lie_password' } })

const toPing = (name: string, why: string, reply: Reply): SocketLie => ({ name, why, way: 'check source', answer: lying({ PING: reply }) })
const toType = (name: string, why: string, reply: Reply): SocketLie => ({ name, why, way: 'check sink', answer: lying({ TYPE: reply }) })
const toAppend = (name: string, why: string, reply: Reply): SocketLie => ({ name, why, way: 'write', answer: lying({ APPEND: reply }) })
const toRead = (name: string, why: string, reply: Reply): SocketLie => ({ name, why, way: 'read', answer: lying({ XREAD: reply }) })

const NONSENSE = bulk(`${'9'.repeat(1e6)} ${'9'.repeat(1e6)} - `)

const FRAMES: readonly SocketLie[] = [
  toPing('array-of-2147483647', 'an array of 2^31-1 items, which do not follow', '*2147483647\r\n'),
  toPing('array-of-4294967296', 'an array that can’t be made', '*4294967296\r\n'),
  toPing('arrays-of-33554431', 'forty arrays in one another, each of which takes 256 MB: 480 bytes', '*33554431\r\n'.repeat(40)),
  toPing('map-of-2147483647', 'a RESP3 map of 2^31-1 members', '%2147483647\r\n+a\r\n'),
  toPing('string-of-minus-5', 'a length that is neither -1 nor positive', '$-5\r\nabcdef\r\n'),
  toPing('string-of-2-to-the-60', 'a long string, and as much of it as is taken', then(`$${2 ** 60}\r\n`, JUNK)),
  toPing('simple-string-without-end', 'a line that never ends', then('+', JUNK)),
  toPing('number-without-end', 'a number that never ends', then(':', DIGITS)),
  toPing('length-without-end', 'a length whose digits never end', then('$', DIGITS)),
  toPing('arrays-in-arrays', 'a hundred thousand arrays in one another', '*1\r\n'.repeat(100_000)),
  toPing('arrays-that-drip', 'the same, byte by byte', (socket) => drip(socket, Buffer.from('*1\r\n'.repeat(5000)), 1)),
  toPing(
    'attribute-of-resp3',
    'RESP3’s attribute, big number, double, verbatim and streamed string',
    '|1\r\n+a\r\n+b\r\n(9\r\n,1e999\r\n=2\r\nx\r\n$?\r\n;0\r\n',
  ),
  toPing('unknown-kind', 'a kind of reply that does not exist', '@1\r\n'),
  toPing(
    'reset-in-a-reply',
    'a reset in the middle of a string',
    (socket) => void socket.write('$99\r\nab', () => socket.resetAndDestroy()),
  ),
  toPing('silence', 'takes the command and says nothing', () => {}),
]

const UNASKED: readonly SocketLie[] = [
  toPing('push-of-null', 'a RESP3 push whose kind is null', '>1\r\n_\r\n'),
  toPing('push-subscribe-null', 'a push that confirms a subscription to null', '>3\r\n$9\r\nsubscribe\r\n_\r\n:1\r\n'),
  toPing('reply-of-null-too-many', 'a reply of null that no command waits for', '+PONG\r\n$-1\r\n_\r\n'),
  toPing('replies-without-end', 'replies that no command waits for', then('+PONG\r\n', Buffer.from('+x\r\n'.repeat(8000)))),
  {
    name: 'push-before-anything',
    way: 'check sink',
    why: 'a null, before the client has said a word',
    answer: (socket) => void socket.write('_\r\n'),
  },
  {
    name: 'auth-of-a-list',
    way: 'check sink',
    why: 'a list of nulls instead of OK',
    config: password,
    answer: lying({ AUTH: '*2\r\n_\r\n_\r\n' }),
  },
  {
    name: 'auth-of-an-error',
    way: 'check sink',
    why: 'an error that quotes what the client sent',
    config: password,
    answer: (socket) =>
      void socket.on('data', (asked: Buffer) => socket.write(`-ERR ${asked.toString('latin1').replaceAll('\r\n', ' ')}\r\n`)),
  },
]

const ANSWERS: readonly SocketLie[] = [
  toType('type-of-null', 'no type at all', '_\r\n'),
  toType(
    'type-of-a-list',
    'a list of a million lists',
    late(() => `*1000000\r\n${'*0\r\n'.repeat(1e6)}`),
  ),
  toType(
    'type-of-40-megabytes',
    'a type that goes into the fault’s text',
    late(() => bulk('t'.repeat(40 << 20))),
  ),
  toType(
    'error-of-40-megabytes',
    'an error that goes into the fault’s text',
    late(() => `-ERR ${'t'.repeat(40 << 20)}\r\n`),
  ),
  toRead('read-of-a-number', 'a number instead of streams', ':7\r\n'),
  toRead('read-of-texts', 'a text in each place', '*1\r\n*2\r\n+s\r\n+entries\r\n'),
  toRead('read-of-nulls', 'entries that are null', entries('_\r\n', '*2\r\n_\r\n_\r\n')),
  toRead('read-of-odd-fields', 'an entry with one field and no value', entries(listOf(bulk('1-1'), listOf(bulk('f'))))),
  toRead('read-of-no-id', 'ids that are no ids', entries(listOf(bulk(`${'9'.repeat(1e6)}`), listOf(bulk('f'), bulk('v'))))),
  toRead('read-of-nothing-at-once', 'nothing, without a pause: the source would ask again at once', '*-1\r\n'),
  toRead('read-of-the-same', 'the same entry for ever', entries(listOf(bulk('1-1'), listOf(bulk('f'), bulk('v'))))),
  toRead(
    'read-of-all',
    'twenty thousand entries where one was asked for',
    entries(...Array.from({ length: 20_000 }, (_, id) => listOf(bulk(`${id}-1`), listOf(bulk('f'), bulk('v'))))),
  ),
  toRead(
    'read-of-8-megabytes',
    'a value that is too large for a record',
    late(() => entries(listOf(bulk('1-1'), listOf(bulk('f'), bulk('v'.repeat(8 << 20)))))),
  ),
  {
    name: 'position-that-stays',
    way: 'write',
    why: 'the same position after each append: the sink tries again at once',
    answer: lying({ APPEND: REPLIES.EVAL! }),
  },
  toAppend('append-of-ok', 'OK, which the script never answers', '+OK\r\n'),
  toAppend('append-of-nothing', 'a text of no bytes: the position is gone', '$0\r\n\r\n'),
  toAppend('append-of-an-empty-list', 'a list of nothing', '*0\r\n'),
  toAppend('append-of-null', 'nothing, which no script of the sink answers', '$-1\r\n'),
  toAppend('append-cut', 'half of a null, which the driver takes for a whole one', (socket) => void socket.end('$-')),
  {
    name: 'position-of-nonsense',
    way: 'write',
    why: 'a position of a million digits',
    answer: lying({ EVAL: NONSENSE, APPEND: NONSENSE }),
  },
]

/** Takes what is written. */
export const HONEST: SocketLie = { name: 'honest', why: 'no lie', way: 'write', answer: lying({}) }
export const LIES: readonly SocketLie[] = [...FRAMES, ...UNASKED, ...ANSWERS]
