/** The Python client's events and pauses, against a server that needs no service. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe, expect, it, type TestContext } from 'vitest'
import { limitMs } from '../harness/machine-speed.ts'
import { python } from '../harness/python.ts'
import { openWebServer } from '../harness/web-server.ts'

const run = promisify(execFile)
const CLIENT = join(import.meta.dirname, '..', '..', 'clients', 'python', 'src')

/** What a script prints. A machine without Python, or without PyPI, can't say anything of it. */
async function printed(context: TestContext, script: string, ...args: string[]): Promise<string> {
  const interpreter = await python().catch((error: unknown) => context.skip(`no Python with its packages: ${String(error)}`))
  const env = { PATH: process.env.PATH, PYTHONPATH: CLIENT, PYTHONDONTWRITEBYTECODE: '1' }
  const { stdout } = await run(interpreter, ['-c', script, ...args], { env, timeout: limitMs(60_000) })
  return stdout
}

/**
 * `outcome(call, *answers)`: what a call comes to, the keys sent, and the whole seconds waited. The last answer is given again and again.
 * Waits of the client's own choice are as short as they may be: 0.25 s, 0.5 s, ….
 */
const SERVED = `
from unittest import mock
import httpx
from dps_client import ApiError, Client, ConnectionFailed, WriteError
def outcome(call, *answers):
    now, keys, left = [0.0], [], list(answers)
    def answer(request):
        if request.url.path.endswith("/auth/token"):
            return httpx.Response(200, json={"access_token": "t", "expires_in": 10**6})
        keys.append(request.headers.get("idempotency-key"))
        each = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(each, Exception):
            raise each
        return each()
    def sleep(seconds):
        now[0] += seconds
    clock = mock.patch("time.sleep", sleep), mock.patch("time.monotonic", lambda: now[0]), mock.patch("random.random", lambda: 0.0)
    with clock[0], clock[1], clock[2], Client("http://a.example", "k", "s") as dps:
        dps._transport._http = httpx.Client(transport=httpx.MockTransport(answer))
        try:
            said = call(dps)
        except (ApiError, ConnectionFailed, WriteError) as error:
            said = type(error).__name__, getattr(error, "code", "")
    return said, keys, int(now[0])
def reply(status, text, **headers):
    "JSON, as a stream: a body of no length."
    given = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return lambda: httpx.Response(status, headers=given, stream=httpx.ByteStream(text if isinstance(text, bytes) else text.encode()))
def create(dps):
    return dps.streams.create({"name": "a", "schema": {}})["id"]
`

describe('the Python client', () => {
  it('reads events whole, however they are cut and whatever separators their texts have', async (context) => {
    const text = 'a\u2028b\u2029c\u0085d\u000be 漢字'
    const event = Buffer.from(`: \r\n\r\nevent: frame\r\nid: 7\r\ndata: ${JSON.stringify({ text })}\r\n\r\nevent: frame\ndata: {"n":1}\n\n`)
    const server = await openWebServer(async (request, response) => {
      if (request.url === '/v1/auth/token') return void response.end('{"access_token":"t","token_type":"Bearer","expires_in":3600}')
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (let at = 0; at < event.length; at += 5) {
        response.write(event.subarray(at, at + 5))
        await sleep(1)
      }
    })
    try {
      const script = `
import json, sys
from itertools import islice
from dps_client import Client
with Client(sys.argv[1], "k", "s") as dps:
    for event in islice(dps.streams.tail("st_1"), 2):
        print(json.dumps([event.event, event.id, event.data]))`
      const out = await printed(context, script, server.url)
      expect(
        out
          .trim()
          .split('\n')
          .map((each) => JSON.parse(each) as unknown),
      ).toEqual([
        ['frame', '7', { text }],
        ['frame', '7', { n: 1 }],
      ])
    } finally {
      await server.close()
    }
  })

  it('has errors that reach another process whole, and a module of types', async (context) => {
    const script = `
import copy, json, pickle
from dps_client import ApiError, WriteError
from dps_client.types import Pipeline
body = {"error": {"code": "conflict", "message": "no", "details": [{"path": "/records/1/id", "message": "is taken"}]}}
refused = ApiError(409, body, {"x-request-id": "req_1", "retry-after": "3"})
large = WriteError(3, ApiError(413, {"error": {"code": "invalid_request", "message": "the body is too large"}}, {}), None, 1)
assert large.details == [{"path": "/records/3", "message": "is too large for one request"}], large.details
for error in (refused, WriteError(7, refused)):
    for again in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(again) is type(error) and str(again) == str(error) and again.__dict__ == error.__dict__, again
print(json.dumps([again.code, again.status, again.details, Pipeline.__name__]))`
    expect(JSON.parse(await printed(context, script))).toEqual([
      'conflict',
      409,
      [{ path: '/records/8/id', message: 'is taken' }],
      'Pipeline',
    ])
  })

  it('says what it got in place of the service’s answer, and does not ask again', async (context) => {
    let asked = 0
    const server = await openWebServer((request, response) => {
      asked++
      if (request.url === '/page/v1/auth/token') response.setHeader('content-type', 'text/html; charset=utf-8').end('<html>')
      else if (request.url === '/moved/v1/auth/token') response.writeHead(301, { location: 'https://api.example.com/v1' }).end()
      // The others get no answer.
    })
    try {
      const script = `
import sys
from dps_client import ApiError, Client, ConnectionFailed
def said(url, **more):
    try:
        with Client(url, "k", "s", **more) as dps:
            dps.account.get()
    except (ApiError, ConnectionFailed, ValueError) as error:
        print(getattr(error, "code", "-"), getattr(error, "status", "-"), error)
said(f"{sys.argv[1]}/page")
said(f"{sys.argv[1]}/moved")
said(f"{sys.argv[1]}/none", timeout=0.5, retries_max=0)
said("http://127.0.0.1:1", retries_max=0)
said("api.example.com")`
      const said = await printed(context, script, server.url)
      expect(said.trim().split('\n')).toEqual([
        "unexpected_answer 200 not the service's answer (200 text/html)",
        "unexpected_answer 301 not the service's answer (301, which leads to https://api.example.com/v1)",
        '- - no answer within 0.5 s',
        expect.stringMatching(/^- - can't reach http:\/\/127.0.0.1:1\/v1: .*refused/),
        '- - api.example.com is not an address as https://api.example.com',
      ])
      // The client has ended before a busy server has read its last request.
      await expect.poll(() => asked, { timeout: limitMs(60_000) }).toBe(3)
    } finally {
      await server.close()
    }
  })

  it('goes on waiting for its own attempt, however often it is still in progress, but not for ever', async (context) => {
    const script = `${SERVED}
busy = reply(409, '{"error": {"code": "conflict", "message": "in progress"}}', retry_after="1")
lost = httpx.ReadTimeout("late")
for answers in ([lost, *[busy] * 80, reply(201, '{"id": "st_1"}')], [lost, busy], [busy]):
    said, keys, seconds = outcome(create, *answers)
    assert len(set(keys)) == 1
    print(said, seconds)`
    const [done, unknown, conflict] = (await printed(context, script)).trim().split('\n')
    expect(done).toBe('st_1 80')
    expect(unknown).toBe("('ConnectionFailed', '') 120")
    expect(conflict).toBe("('ApiError', 'conflict') 120")
  })

  it('asks again for an answer that ended early or can’t be decoded, under the same key', async (context) => {
    const script = `${SERVED}
import gzip
whole = '{"id": "st_1", "records": 1}'
for cut in (reply(201, whole[:12]), reply(201, ""), reply(201, gzip.compress(whole.encode())[:-12], content_encoding="gzip"),
            reply(201, "no gzip", content_encoding="gzip")):
    said, keys, _ = outcome(create, cut, cut, reply(201, whole))
    assert said == "st_1" and len(keys) == 3 and len(set(keys)) == 1, (said, keys)
    assert outcome(lambda dps: dps.streams.write("st_1", [{}]).records, cut, reply(201, whole))[0] == 1
    assert outcome(lambda dps: dps.streams.get("st_1")["id"], cut, reply(200, whole))[0] == "st_1"
    # It is not known whether they were written.
    assert outcome(lambda dps: dps.streams.write("st_1", [{}]), cut)[0] == ("WriteError", "unreachable")
    said, keys, _ = outcome(lambda dps: dps.pipelines.start("pl_1"), cut)
    assert said == ("ConnectionFailed", "") and len(keys) == 1, (said, keys)
    said, keys, _ = outcome(lambda dps: next(dps.streams.tail("st_1")), cut)
    assert said == ("ConnectionFailed", ""), said
assert outcome(lambda dps: dps.keys.delete("key_1"), lambda: httpx.Response(204))[0] is None
print("done")`
    expect((await printed(context, script)).trim()).toBe('done')
  })

  it('sends again what only reads, though it is a POST, and nothing else without a key', async (context) => {
    const script = `${SERVED}
lost = httpx.ReadError("gone")
answers = lost, reply(503, "{}"), reply(200, '{"ok": true}')
assert outcome(lambda dps: dps.connectors.check("log", {"config": {}})["ok"], *answers)[:2] == (True, [None] * 3)
assert outcome(lambda dps: dps.pipelines.stop("pl_1"), *answers)[:2] == (("ConnectionFailed", ""), [None])
print("done")`
    expect((await printed(context, script)).trim()).toBe('done')
  })

  it('writes what a slow source has said so far, and all that comes before a record that is none', async (context) => {
    const script = `
import json, time
from datetime import date, datetime, timedelta, timezone
import httpx
from dps_client import Client, WriteError
bodies = []
def answer(request):
    if request.url.path.endswith("/auth/token"):
        return httpx.Response(200, json={"access_token": "t", "expires_in": 3600})
    bodies.append([json.loads(line) for line in request.content.decode().split("\\n")])
    if {"n": "refused"} in bodies[-1]:
        return httpx.Response(400, json={"error": {"code": "invalid_request", "message": "no"}})
    return httpx.Response(201, json={"records": len(bodies[-1]), "partitions": []})
def slow(*records):
    "Yields each record once those before it have arrived."
    for number, record in enumerate(records):
        until = time.monotonic() + 30
        while number > sum(map(len, bodies)):
            assert time.monotonic() < until, "nothing was sent"
            time.sleep(0.01)
        yield record
dps = Client("http://a.example", "k", "s")
dps._transport._http = httpx.Client(transport=httpx.MockTransport(answer))
seen = []
written = dps.streams.write("st_1", slow({"n": 1}, {"n": 2}, {"n": 3}), silence=0.05, on_progress=seen.append)
assert (written.records, written.requests, seen) == (3, 3, [1, 2, 3]), (written, seen)
def caught(records, **more):
    bodies.clear()
    try:
        dps.streams.write("st_1", records, **more)
    except WriteError as error:
        return error
    raise AssertionError("it was written")
error = caught(slow({"n": "refused"}, {"n": 2}, {"n": 3}), silence=0.05)
assert (error.code, error.records) == ("invalid_request", 0) and len(bodies) == 1, (error, bodies)
for wrong, said in ((object(), "a value of the type object can't be written as JSON"), (datetime(2026, 1, 2), "2026-01-02 00:00:00 has no time zone"),
                    ("\\ud800", "a text has half of a surrogate pair, which is no Unicode")):
    error = caught(({"n": n if n < 7 else wrong} for n in range(9)), records_max=5)
    assert error.code == "failed" and error.records == 7 and [len(each) for each in bodies] == [5, 2], (error, bodies)
    assert error.details == [{"path": "/records/7/n", "message": said}], error.details
    assert str(error) == f"/records/7/n: {said} (7 records were written before)", error
itself = {"a/b": [1]}
itself["a/b"].append(itself)
assert caught([itself]).details[0]["path"].startswith("/records/0/a~1b/1/a~1b/1"), "no end"
assert caught([{"a/b": [0, {"c": {1, 2}}]}]).details[0]["path"] == "/records/0/a~1b/1/c"
def broken():
    yield {"n": 1}
    raise OSError("the source is broken")
error = caught(broken(), key_prefix="run")
assert (str(error), error.details, bodies) == ("the source is broken (1 record was written before)", [], [[{"n": 1}]]), error
bodies.clear()
at = datetime(2026, 1, 2, 3, 4, 5, 600, timezone(timedelta(hours=2)))
dps.streams.write("st_1", [{"at": at, "day": date(2026, 1, 2)}])
assert bodies == [[{"at": "2026-01-02T03:04:05.000600+02:00", "day": "2026-01-02"}]], bodies
def pausing():
    yield {"n": 1}
    time.sleep(0.3)
    yield {"n": 2}
# The same requests each time.
assert dps.streams.write("st_1", pausing(), silence=0.01, key_prefix="run").requests == 1
print("done")`
    expect((await printed(context, script)).trim()).toBe('done')
  })

  it('waits ten seconds at most, however often it has failed', async (context) => {
    const out = await printed(context, 'from dps_client._transport import backoff\nprint(backoff(0), backoff(1024), backoff(10**6))')
    const [first, ...later] = out.trim().split(' ').map(Number)
    expect(first).toBeLessThanOrEqual(0.2)
    for (const each of later) {
      expect(each).toBeGreaterThanOrEqual(5)
      expect(each).toBeLessThanOrEqual(10)
    }
  })
})
