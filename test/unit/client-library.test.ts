/** What a process pays for the Kafka client library when it starts. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const LIBRARY = join(import.meta.dirname, '..', '..', 'shared', 'kafka', 'client-library.ts')

/** What a fresh process answers that imports the library. Of each schema Ajv makes a function with the parameters `self` and `scope`. */
const PROGRAM = `
let schemas = 0
globalThis.Function = class extends Function { constructor(...texts) { super(...texts); if (texts[0] === 'self' && texts[1] === 'scope') schemas++ } }
const { Consumer } = await import(${JSON.stringify(LIBRARY)})
const imported = schemas
let refused = ''
try { new Consumer({ clientId: 'c', groupId: 'g', bootstrapBrokers: ['b:1'], strict: true, retries: 'many' }) } catch (error) { refused = error.message }
const { Ajv2020 } = await import('ajv/dist/2020.js')
const before = schemas
new Ajv2020().compile({ type: 'string' })
console.log(JSON.stringify({ imported, refused, own: schemas > before }))
`

it('its option schemas are compiled when a client is strict, not while it is imported; other schemas are compiled at once', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', '--input-type=module', '-e', PROGRAM])
  expect(JSON.parse(stdout)).toEqual({ imported: 0, refused: expect.stringContaining('retries'), own: true })
})
