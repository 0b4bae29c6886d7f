/** SmartModules for tests, compiled against our SDK and deployed over HTTP. */
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { patiently, unique, type Client } from './client.ts'

/** Deploys a source under a new name, or as the next version of `known`. */
export async function deployModule(client: Client, source: string, known?: string): Promise<{ id: string; name: string; version: string }> {
  const wasm_binary = Buffer.from(await compileSmartModule(source)).toString('base64')
  let name = known ?? ''
  const answer = await patiently(() => {
    name = known ?? unique('module')
    const config = { input_format: 'json', output_format: 'json' }
    return client.call<{ id: string; version: string }>('POST', '/v1/smartmodules', { name, wasm_binary, config })
  })
  if (answer.status !== 201) throw new Error(`deploying ${name} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
  return { id: answer.body.id, name, version: answer.body.version }
}

const READ_N = `
const path = new Path('n')
function n(record: Record): i32 {
  const slice = record.find(path)
  let value = 0
  for (let at = slice.start; at < slice.end; at++) value = value * 10 + (load<u8>(at) - 48)
  return value
}`

/**
 * A filter over the field \`n\`; \`body\` is AssemblyScript that may use \`value\` and \`record\`, and returns whether to keep the record.
 */
export const filterOverN = (body: string): string =>
  `import { Record, Path } from 'dps'${READ_N}
export function filter(record: Record): bool {
  const value = n(record)
  ${body}
}`
