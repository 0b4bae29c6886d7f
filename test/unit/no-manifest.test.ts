/** What is no manifest: the error says what one needs. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, expect, it } from 'vitest'
import { runProgram } from '../../clients/cli/src/program.ts'
import { validated } from '../../services/control-plane/middleware/validate.ts'
import { applyManifestContract, planManifestContract } from '../../shared/api/manifests.ts'

const folder = await mkdtemp(join(tmpdir(), 'dps-manifest-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

it.each([
  ['', 'is empty'],
  ['# streams: {}\n', 'is empty'],
  ['- dps: 1\n', 'is a list'],
  ['shop', 'is a single value'],
])('dps names the file of %j', async (text, what) => {
  const file = join(folder, 'dps.yaml')
  await writeFile(file, text)
  const said: string[] = []
  const exit = await runProgram(['apply', file], {
    env: { DPS_URL: 'http://127.0.0.1:1', DPS_API_KEY: 'k', DPS_API_SECRET: 's' },
    stdin: new PassThrough(),
    isTerminal: false,
    write: () => {},
    note: (note) => said.push(note),
    signal: new AbortController().signal,
  })
  const needed = 'a manifest is an object with `dps: 1` and its `set` (see /manifest.schema.json of the service)'
  expect([exit, said]).toEqual([2, [`dps: ${file} ${what}: ${needed}`]])
})

it.each([[null], [[]], ['shop'], [1]])('the service says the same of %j', (manifest) => {
  const message = 'must be an object with `dps: 1` and its `set` (see /manifest.schema.json)'
  for (const { request } of [planManifestContract, applyManifestContract])
    expect(validated(request.body, { manifest })).toEqual({ details: [{ path: '/manifest', message }] })
})
