/** Commands that the console shows for a form: a shell must send exactly what the form would. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { asCurl, asYaml, quoted, variable } from '../../services/console/src/same-as.ts'

const run = promisify(execFile)
/** In place of curl: its arguments, each ended by NUL, and an answer for jq, which prints the id. */
const PRELUDE = `set -eu
URL=http://host TOKEN=token
curl() { printf '%s\\0' "$@" >&2; echo; }
jq() { echo "it"; }
`
/** The arguments of each curl of these commands, as a shell understands them. */
async function argumentsOf(commands: string): Promise<string[]> {
  const { stderr } = await run('bash', ['-c', PRELUDE + commands], { timeout: 120_000 })
  return stderr.split('\0').slice(0, -1)
}

const text = fc.string({ unit: 'grapheme', maxLength: 40 }).filter((each) => !each.includes('\0'))
const awkward = fc.oneof(
  text,
  fc.constantFrom('\u0001TOKEN\u0001', `'`, `'"'"'`, '$HOME', '$(id)', '`id`', '\\', '!!', '"; rm x; "', '\n', '%s', '\u0001'),
)

it('a shell sends the bodies and paths that the form would', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(awkward, fc.oneof(awkward, fc.double({ noNaN: true, noDefaultInfinity: true }))),
      awkward,
      async (body, name) => {
        // U+0001 between capitals would be a variable: no name has it.
        const given = { body, name: name.replaceAll('\u0001', '') }
        const [, , , , url, , authorization, , , , sent] = await argumentsOf(
          asCurl([{ method: 'POST', path: `/streams/${encodeURIComponent('a b')}/data`, body: given }]),
        )
        expect(url).toBe('http://host/v1/streams/a%20b/data')
        expect(authorization).toBe('Authorization: Bearer token')
        expect(JSON.parse(sent!)).toEqual(JSON.parse(JSON.stringify(given)))
      },
    ),
    { numRuns: 100 },
  )
})

it('what one request answers goes into the next one', async () => {
  const sent = await argumentsOf(
    asCurl([
      { method: 'POST', path: '/streams', body: { name: 'a' }, into: 'SOURCE', take: 'id' },
      { method: 'POST', path: `/streams/${variable('SOURCE')}/data`, body: { of: variable('SOURCE') } },
    ]),
  )
  expect(sent).toContain('http://host/v1/streams/it/data')
  expect(sent.at(-1)).toBe('{"of":"it"}')
})

it('a manifest is YAML of the same values, with all digits', () => {
  const sections = {
    streams: { 'a: b': { schema: { id: 'string' } } },
    pipelines: { p: { steps: [{ with: { above: 12345678901234567890n } }] } },
  }
  const yaml = asYaml("it's", sections)
  expect(parse(yaml, { intAsBigInt: true })).toEqual({ dps: 1n, set: "it's", ...sections })
})

it('a name stays one word', async () => {
  await fc.assert(
    fc.asyncProperty(awkward, async (name) => {
      const { stdout } = await run('bash', ['-c', `printf %s ${quoted(name)}`])
      expect(stdout).toBe(name)
    }),
    { numRuns: 50 },
  )
})

it('a secret comes as it is, by no argument', async () => {
  const bodyFrom = `printf %s "$VALUE" | jq -Rs '{name: "db", value: .}'`
  const commands = asCurl([{ method: 'POST', path: '/secrets', bodyFrom }])
  expect(commands.startsWith(bodyFrom)).toBe(true)
  const { stderr } = await run('bash', ['-c', `${PRELUDE}VALUE='p"w'\n${commands}`])
  expect(stderr).toContain('@-')
  expect(stderr).not.toContain('p"w')
})

it('what is too long for an argument is a file', () => {
  const commands = asCurl([{ method: 'POST', path: '/streams/a/data', body: { records: ['x'.repeat(200_000)] } }])
  expect(commands).toContain('-d @body.json')
  expect(commands.length).toBeLessThan(1000)
})
