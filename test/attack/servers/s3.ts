/** An S3-compatible store that lies: in its listings, its objects, and its errors. */
import { gzipSync } from 'node:zlib'
import { drip, once, sendForever, type WebLie } from './lie.ts'

type Answer = WebLie['answer']
type Listed = { key: string; size?: number | string; etag?: string; modified?: string }

const JUNK = Buffer.alloc(64 << 10, 'x')
const MEBIBYTE = 1 << 20

const entry = ({ key, size = 1e12, etag = '&quot;e&quot;', modified = '2026-01-01T00:00:00.000Z' }: Listed): string =>
  `<Contents><Key>${key}</Key><LastModified>${modified}</LastModified><ETag>${etag}</ETag><Size>${size}</Size></Contents>`
const page = (inner: string, before = ''): string =>
  `<?xml version="1.0" encoding="UTF-8"?>${before}<ListBucketResult><Name>lies</Name>${inner}</ListBucketResult>`
const listing = (inner: string, before = ''): Answer => xml(() => page(inner, before))
const xml =
  (body: () => string | Buffer, status = 200, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/xml', ...headers }).end(body())
const times = (count: number, part: (at: number) => string): string => Array.from({ length: count }, (_, at) => part(at)).join('')

/** A bucket of one object; `object` answers a request for it. */
const bucketOf =
  (key: string, object: Answer): Answer =>
  (request, response) =>
    (request.url?.includes('list-type') ? listing(entry({ key })) : object)(request, response)
const body =
  (bytes: () => Buffer | string): Answer =>
  (_request, response) =>
    void response.end(bytes())

const onCheck = (name: string, why: string, answer: Answer): WebLie => ({ name, why, way: 'check source', answer })
const onRead = (name: string, why: string, answer: Answer, config = {}): WebLie => ({
  name,
  why,
  way: 'read',
  answer,
  config: () => config,
})

const ENTITIES = `<!DOCTYPE l [<!ENTITY a0 "lol">${times(30, (at) => `<!ENTITY a${at + 1} "${`&a${at};`.repeat(10)}">`)}]>`
/** Every line opens a quote that no other line closes: where a row ends is looked for from each of them. */
const OPEN_QUOTES = '"a"b,"c\n'

const LISTINGS: readonly WebLie[] = [
  onCheck('listing-without-end', 'a listing that never ends', (_request, response) => {
    response.write('<ListBucketResult><Name>')
    sendForever(response, JUNK)
  }),
  onCheck('error-without-end', 'an error that never ends', (_request, response) => sendForever(response.writeHead(400), JUNK)),
  onCheck('headers-without-end', 'header after header', ({ socket }) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    sendForever(socket, Buffer.from('x-a: b\r\n'.repeat(5000)))
  }),
  onCheck('laughs', 'entities that stand for a billion others', listing(entry({ key: '&a30;' }), ENTITIES)),
  onCheck('doctypes', 'sixty thousand document types in front of the root', listing('', '<!DOCTYPE a>'.repeat(60_000))),
  onCheck(
    'elements-in-elements',
    'a million elements in one another',
    xml(() => '<a>'.repeat(1e6)),
  ),
  onCheck('a-million-keys', 'a million keys on a page', xml(once(() => page(times(1e6, (at) => entry({ key: `k${at}` })))))),
  onCheck(
    'names-of-the-prototype',
    'elements and attributes of the prototype’s names',
    listing('<__proto__ a="1"><Contents/></__proto__><constructor>1</constructor><Contents __proto__="x"/>'),
  ),
  onCheck(
    'pages-that-are-nothing',
    'a root that is no listing',
    xml(() => '<IsTruncated>true</IsTruncated>'),
  ),
  onCheck('times-that-are-none', 'a time of change that is none', listing(entry({ key: 'a', modified: 'yesterday' }))),
  onCheck(
    'sizes-that-are-none',
    'sizes of -1, 1e999 and text',
    listing(times(3, (at) => entry({ key: `k${at}`, size: ['-1', '1e999', 'x'][at]! }))),
  ),
  onCheck(
    'slow-down-for-ages',
    '503 that asks for a pause of ages',
    xml(() => '<Error><Code>SlowDown</Code></Error>', 503, { 'retry-after': '99999999999', 'x-amz-retry-after': '1e300' }),
  ),
  onCheck(
    'redirect-to-metadata',
    'the cloud’s metadata service',
    xml(() => '<Error><Code>TemporaryRedirect</Code><Endpoint>169.254.169.254</Endpoint></Error>', 307, {
      location: 'http://169.254.169.254/',
    }),
  ),
  onCheck(
    'region-elsewhere',
    'a bucket of another region, whose name is a host',
    xml(() => '<Error><Code>PermanentRedirect</Code></Error>', 301, { 'x-amz-bucket-region': '@169.254.169.254/' }),
  ),
  onCheck('drip', 'a byte each 50 ms', (_request, response) => drip(response, Buffer.alloc(1e6, ' '), 50)),
  onCheck(
    'reset-after-headers',
    'headers and a reset',
    ({ socket }) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n', () => socket.resetAndDestroy()),
  ),
  onCheck('silence', 'takes the request and says nothing', () => {}),
  onRead(
    'pages-without-end',
    'the same token for ever: the source gathers objects before it reads one',
    xml(
      once(() =>
        page(
          `<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>${times(1000, (at) => entry({ key: `k${at}`, size: 0 }))}`,
        ),
      ),
    ),
  ),
  onRead(
    'keys-that-lead-up',
    'keys that are paths out of a folder, or hold control characters',
    listing(times(3, (at) => entry({ key: ['../../x', '/etc/passwd', '&#0;&#10;&#xd800;'][at]!, size: 0 }))),
  ),
  onRead(
    'times-beyond',
    'times of change at the ends of what a date holds',
    listing(
      entry({ key: 'a', size: 0, modified: '9999-12-31T23:59:59Z' }) + entry({ key: 'b', size: 0, modified: '0000-01-01T00:00:00Z' }),
    ),
  ),
  onRead(
    'etags-that-add-headers',
    'an ETag with line breaks, which is sent back as a header',
    listing(entry({ key: 'a', etag: '&#13;&#10;x-b: c' })),
  ),
  onRead(
    'etag-of-a-megabyte',
    'an ETag that goes into the position and into a header',
    listing(entry({ key: 'a', etag: 'e'.repeat(MEBIBYTE) })),
  ),
  onRead(
    'key-of-4-megabytes',
    'a key that a long pattern is compared with',
    xml(once(() => page(entry({ key: 'a'.repeat(4 * MEBIBYTE) })))),
    { pattern: '*a'.repeat(500) },
  ),
]

const OBJECTS: readonly WebLie[] = [
  onRead(
    'object-without-end',
    'a line that never ends',
    bucketOf('a.ndjson', (_request, response) => sendForever(response, JUNK)),
  ),
  onRead(
    'object-of-short-lines',
    'text lines of one letter for ever',
    bucketOf('a.txt', (_request, response) => sendForever(response, Buffer.alloc(64 << 10, 'a\n'))),
  ),
  onRead(
    'object-that-drips',
    'a line of 6 MiB, then one byte after another: each makes a copy of the line',
    bucketOf('a.ndjson', (_request, response) => {
      response.write(Buffer.alloc(6 * MEBIBYTE, 'a'))
      drip(response, Buffer.alloc(MEBIBYTE, 'a'), 1)
    }),
  ),
  onRead(
    'object-too-short',
    'a length beyond what comes',
    bucketOf('a.txt', (_request, response) => {
      response.writeHead(200, { 'content-length': 1e15 }).write('a\n', () => response.socket?.resetAndDestroy())
    }),
  ),
  onRead(
    'gzip-1000',
    'one byte becomes a thousand: a line of 256 MiB',
    bucketOf('a.txt.gz', body(once(() => gzipSync(Buffer.alloc(256 * MEBIBYTE), { level: 6 })))),
  ),
  onRead(
    'csv-of-many-columns',
    'half a million columns of the same name',
    bucketOf(
      'a.csv',
      body(() => `${'a,'.repeat(500_000)}\n1\n`),
    ),
  ),
  onRead(
    'csv-of-open-quotes',
    'rows that begin with a quote nothing closes',
    bucketOf(
      'a.csv',
      body(() => `h\n${OPEN_QUOTES.repeat(250_000)}`),
    ),
  ),
  onRead(
    'csv-of-malformed-rows',
    'rows with a quote where none may be',
    bucketOf(
      'a.csv',
      body(() => `h\n${'a"b\n'.repeat(500_000)}`),
    ),
  ),
  onRead(
    'json-in-json',
    'eight million lists in one another',
    bucketOf(
      'a.json',
      body(() => Buffer.alloc(8 * MEBIBYTE, '[')),
    ),
  ),
  onRead(
    'json-of-numbers',
    'millions of numbers, each a record',
    bucketOf(
      'a.json',
      body(() => `[${'1,'.repeat(4 * MEBIBYTE)}1]`),
    ),
  ),
]

const onWrite = (name: string, why: string, answer: Answer): WebLie => ({
  name,
  why,
  way: 'write',
  answer: (request, response) => (request.url?.includes('list-type') ? listing('') : answer)(request, response),
})
const WRITES: readonly WebLie[] = [
  onWrite('write-answered-without-end', 'a good answer to a write, whose body never ends', (_request, response) =>
    sendForever(response.writeHead(200, { etag: '"e"' }), JUNK),
  ),
  onWrite('write-of-what-is-there', 'the object is there when it is written, and gone when it is looked for', (request, response) =>
    response.writeHead(request.method === 'HEAD' ? 404 : 412).end(),
  ),
  onWrite('write-of-what-another-wrote', 'the object is there already, and not by this pipeline', (request, response) =>
    response.writeHead(request.method === 'HEAD' ? 200 : 412, { etag: '"e"' }).end(),
  ),
  onWrite(
    'write-answered-by-an-error',
    '200 with an error in its body, as S3 answers where it fails late',
    xml(() => '<?xml version="1.0"?><Error><Code>InternalError</Code></Error>'),
  ),
  onWrite('write-answered-by-a-page', '200 with the page of something that is no store', (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html>welcome</html>'),
  ),
  onWrite('write-answer-cut', 'a good answer to a write that ends before its body', ({ socket }) =>
    socket.end('HTTP/1.1 200 OK\r\netag: "e"\r\ncontent-length: 99\r\n\r\n<'),
  ),
]

/** Takes what is written. */
export const HONEST: WebLie = onWrite('honest', 'no lie', (_request, response) => response.writeHead(200, { etag: '"e"' }).end())
export const LIES: readonly WebLie[] = [...LISTINGS, ...OBJECTS, ...WRITES]
