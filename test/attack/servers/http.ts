/** A web service that lies: in its headers, its lengths, its redirects, its encodings, and its documents. */
import type { Socket } from 'node:net'
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib'
import { drip, once, sendForever, type WebLie } from './lie.ts'

type Answer = WebLie['answer']

/** Answers with bytes of its own: the server's library would correct them. */
const raw =
  (send: (socket: Socket) => void): Answer =>
  (request) =>
    send(request.socket)
const rawForever = (head: string, part: Buffer): Answer => raw((socket) => (socket.write(head), sendForever(socket, part)))
const rawText = (text: string): Answer => raw((socket) => socket.write(text))
/** Answers HEAD well and at once: the check asks with it, and what it finds at fault no reader would meet. */
const toReader =
  (answer: Answer): Answer =>
  (request, response) =>
    request.method === 'HEAD' ? void response.end() : answer(request, response)
/** A good answer. The check, which asks with HEAD, would not wait for some of the bodies to be made. */
const whole =
  (type: string, body: () => Buffer | string, headers: Record<string, string> = {}): Answer =>
  (request, response) =>
    void response.writeHead(200, { 'content-type': type, ...headers }).end(request.method === 'HEAD' ? '' : body())
const refused =
  (status: number, headers: Record<string, string>, body = ''): Answer =>
  (_request, response) =>
    void response.writeHead(status, headers).end(body)

const JSON_TYPE = 'application/json'
const LINES_TYPE = 'application/x-ndjson'
const MEBIBYTE = 1 << 20
/** Just below what the connector reads. */
const FULL = 32 * MEBIBYTE - 16
const ZEROS = once(() => Buffer.alloc(64 * MEBIBYTE))
const gzipped = once(() => gzipSync(ZEROS(), { level: 9 }))
const zstandard = once(() => zstdCompressSync(ZEROS()))
const brotli = once(() =>
  brotliCompressSync(ZEROS(), { params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 24 } }),
)
const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
const HEADERS = Buffer.from('x-a: b\r\n'.repeat(5000))
const JUNK = Buffer.alloc(64 << 10, 'x')

const listOf = (item: string): string => `[${Array.from({ length: Math.floor(FULL / (item.length + 1)) }, () => item).join(',')}]`
const paged = () => ({ records: '/items', paging: { kind: 'cursor' } })
const oauth2 = (port: number) => ({
  auth: { kind: 'oauth2', token_url: `http://127.0.0.1:${port}/token`, client_id: 'c', client_secret: { $secret: 'lie_password' } },
})
let tokens = 0
let isRead = false

const WIRE: readonly WebLie[] = [
  { name: 'headers-without-end', way: 'check source', why: 'header after header', answer: rawForever('HTTP/1.1 200 OK\r\n', HEADERS) },
  {
    name: 'header-without-end',
    way: 'check source',
    why: 'one header that goes on and on',
    answer: rawForever('HTTP/1.1 200 OK\r\nx-a: ', JUNK),
  },
  {
    name: 'informed-without-end',
    way: 'check source',
    why: '103 Early Hints for ever',
    answer: raw((socket) => sendForever(socket, Buffer.from('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(2000)))),
  },
  { name: 'protocol-switch', way: 'check source', why: 'it was not asked for', answer: rawText('HTTP/1.1 101 S\r\nupgrade: x\r\n\r\nx') },
  {
    name: 'header-of-control-characters',
    way: 'read',
    why: 'NUL, a bare line feed and 0xff within headers',
    answer: toReader(
      raw((socket) => socket.write(Buffer.from('HTTP/1.1 200 OK\r\nx\0: \x01\xff\nlocation: \x7f\r\netag: \x80\r\n\r\n[]', 'latin1'))),
    ),
  },
  {
    name: 'length-too-long',
    way: 'read',
    why: 'a content-length beyond the body, then the end',
    answer: raw((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 99999999999999\r\n\r\n[]')),
  },
  {
    name: 'length-too-short',
    way: 'read',
    why: 'bytes behind the body',
    answer: rawText('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[][][]HTTP/1.1 1'),
  },
  {
    name: 'length-negative',
    way: 'read',
    why: 'a negative length',
    answer: toReader(rawText('HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n[]')),
  },
  {
    name: 'lengths-of-two-kinds',
    way: 'read',
    why: 'a length and chunks',
    answer: toReader(rawText('HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n[]')),
  },
  {
    name: 'chunk-extension-without-end',
    way: 'read',
    why: 'a chunk whose extension goes on and on',
    answer: rawForever(`${CHUNKED}2;a=`, JUNK),
  },
  {
    name: 'trailers-without-end',
    way: 'read',
    why: 'trailers after the last chunk, for ever',
    answer: rawForever(`${CHUNKED}2\r\n[]\r\n0\r\n`, HEADERS),
  },
  {
    name: 'reset-after-headers',
    way: 'read',
    why: 'headers and a reset',
    answer: raw((socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n', () => socket.resetAndDestroy())),
  },
  { name: 'silence', way: 'check sink', why: 'takes the request and says nothing', answer: () => {} },
  {
    name: 'body-that-drips',
    way: 'read',
    why: 'a byte each 50 ms',
    answer: (_request, response) => drip(response, Buffer.alloc(1e6, '['), 50),
  },
]

const REDIRECTS: readonly WebLie[] = [
  { name: 'redirect-to-itself', way: 'check source', why: 'a loop', answer: refused(307, { location: '/again' }) },
  {
    name: 'redirect-to-metadata',
    way: 'check source',
    why: 'the cloud’s metadata service, which has no public address',
    answer: refused(308, { location: 'http://169.254.169.254/latest/meta-data/' }),
  },
  { name: 'redirect-to-nonsense', way: 'check sink', why: 'a location that is no URL', answer: refused(307, { location: 'http://[::' }) },
  { name: 'redirect-to-data', way: 'check source', why: 'a location of another scheme', answer: refused(307, { location: 'data:,x' }) },
  {
    name: 'retry-after-ages',
    way: 'write',
    why: 'a pause of 10^300 seconds',
    answer: refused(429, { 'retry-after': `1${'0'.repeat(300)}` }, 'x'.repeat(1 << 20)),
  },
  {
    name: 'refusal-without-end',
    way: 'read',
    why: '404 with a body that never ends',
    answer: (_request, response) => sendForever(response.writeHead(404), JUNK),
  },
]

/** A good answer to HEAD, with which the check asks; then this to a write. */
const onWrite = (name: string, why: string, answer: Answer): WebLie => ({ name, why, way: 'write', answer: toReader(answer) })
const rawEnd = (text: string): Answer => raw((socket) => void socket.end(text))

const WRITES: readonly WebLie[] = [
  onWrite(
    'accepted-and-cut',
    '200, and the connection ends before the answer does',
    rawEnd('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{'),
  ),
  onWrite('accepted-in-half-a-chunk', '200, and a chunk that never comes', rawEnd(`${CHUNKED}ff\r\n{`)),
  onWrite('status-cut', 'the first half of a status', rawEnd('HTTP/1.1 20')),
  onWrite('headers-cut', '200, and half of a header', rawEnd('HTTP/1.1 200 OK\r\ncontent-le')),
  onWrite('informed-and-left', '103 Early Hints, and no answer after it', rawEnd('HTTP/1.1 103 Early Hints\r\n\r\n')),
  onWrite('moved-for-good', '301, which changes the method of what follows it', refused(301, { location: '/elsewhere' })),
]

const BODIES: readonly WebLie[] = [
  {
    name: 'body-without-end',
    way: 'read',
    why: 'lines for ever',
    answer: (_request, response) =>
      sendForever(response.writeHead(200, { 'content-type': LINES_TYPE }), Buffer.from('{"a":1}\n'.repeat(8000))),
  },
  { name: 'gzip-1000', way: 'read', why: 'one byte becomes a thousand', answer: whole(JSON_TYPE, gzipped, { 'content-encoding': 'gzip' }) },
  {
    name: 'zstd-15000',
    way: 'read',
    why: 'one byte becomes fifteen thousand',
    answer: whole(JSON_TYPE, zstandard, { 'content-encoding': 'zstd' }),
  },
  {
    name: 'brotli-100000',
    way: 'read',
    why: 'one byte becomes a hundred thousand',
    answer: whole(JSON_TYPE, brotli, { 'content-encoding': 'br' }),
  },
  {
    name: 'gzip-of-gzip',
    way: 'read',
    why: 'one byte becomes a million',
    answer: whole(
      JSON_TYPE,
      once(() => gzipSync(gzipped(), { level: 9 })),
      { 'content-encoding': 'gzip, gzip' },
    ),
  },
  {
    name: 'gzip-that-is-not',
    way: 'read',
    why: 'gzip in name only',
    answer: whole(JSON_TYPE, () => '[1,2]', { 'content-encoding': 'gzip' }),
  },
]

const DOCUMENTS: readonly WebLie[] = [
  {
    name: 'objects-up-to-the-limit',
    way: 'read',
    why: '10 million objects in 32 MiB',
    answer: whole(
      JSON_TYPE,
      once(() => listOf('{}')),
    ),
  },
  {
    name: 'decimals-up-to-the-limit',
    way: 'read',
    why: '8 million numbers that keep their digits',
    answer: whole(
      JSON_TYPE,
      once(() => listOf('0.1')),
    ),
  },
  { name: 'lists-in-lists', way: 'read', why: '32 MiB of opening brackets', answer: whole(JSON_TYPE, () => Buffer.alloc(FULL, '[')) },
  { name: 'lines-up-to-the-limit', way: 'read', why: '32 million empty lines', answer: whole(LINES_TYPE, () => Buffer.alloc(FULL, '\n')) },
  {
    name: 'one-letter-lines',
    way: 'read',
    why: '16 million lines of a letter',
    answer: whole(LINES_TYPE, () => Buffer.alloc(FULL, 'a\n')),
  },
  {
    name: 'cursor-of-30-megabytes',
    way: 'read',
    why: 'it goes into the position and into the next URL',
    config: paged,
    answer: toReader((request, response) =>
      response.end(JSON.stringify({ items: [1], next_cursor: 'c'.repeat((request.url?.length ?? 0) > 1e6 ? 9 : 30 * MEBIBYTE) })),
    ),
  },
  {
    name: 'etag-of-15-kilobytes',
    way: 'read',
    why: 'goes into the position',
    answer: whole(JSON_TYPE, () => '[1]', { etag: `"${'e'.repeat(15_000)}"` }),
  },
  {
    name: 'members-of-the-prototype',
    way: 'read',
    why: 'a pointer through __proto__ and constructor, and a document with both',
    config: () => ({ records: '/__proto__/constructor' }),
    answer: whole(JSON_TYPE, () => '{"__proto__":{"constructor":[{"__proto__":{"toJSON":1}}]},"constructor":1}'),
  },
  {
    name: 'tokens-without-end',
    way: 'read',
    why: 'another token of 1 MB each time, which expires at once: every token is remembered, to be masked',
    config: oauth2,
    answer: (request, response) => {
      const token = { access_token: `${tokens++}${'t'.repeat(1e6)}`, expires_in: 1e-9 }
      response.end(request.url === '/token' ? JSON.stringify(token) : '[]')
    },
  },
  {
    name: 'token-with-line-break',
    way: 'read',
    why: 'a token that would add a header, once a reader has come: the check gets a good one, which expires at once',
    config: oauth2,
    answer: (request, response) => {
      isRead ||= request.method === 'GET'
      const token = { access_token: isRead ? 'a\r\nx-b: c' : 'a', expires_in: 1 }
      response.end(request.url === '/token' ? JSON.stringify(token) : '[]')
    },
  },
]

/** Takes what is written. */
export const HONEST: WebLie = { name: 'honest', why: 'no lie', way: 'write', answer: whole(JSON_TYPE, () => '{}') }
export const LIES: readonly WebLie[] = [...WIRE, ...REDIRECTS, ...WRITES, ...BODIES, ...DOCUMENTS]
