/** Runs records through steps that need not be deployed: sources, binaries, or SmartModules of the account. */
import type { z } from 'zod'
import { testSmartModuleContract } from '../../../../shared/api/smartmodules.ts'
import { ON_ERROR_DEFAULT } from '../../../../shared/model/policies.ts'
import { streamConnector } from '../../../../shared/connectors/stream/connector.ts'
import { assertMayUse } from '../../definitions/may-use.ts'
import { chainFaults, resolveSteps, type ResolvedStep } from '../../definitions/resolve-steps.ts'
import { invalidRequest, ServiceError, type Detail } from '../../service-error.ts'
import { JSON_ENDS, notRun, traceThrough } from '../../trace/trace.ts'
import type { Caller, Deps } from '../../deps.ts'
import { operation } from '../operation.ts'
import { givenRecords, UNDEPLOYED, valueTexts } from './given-records.ts'
import { streamRecords } from '../../trace/stream-records.ts'
import { inspectUpload } from './upload.ts'

type Body = z.output<typeof testSmartModuleContract.request.body>

/** All binaries of one request together. */
const UPLOAD_BYTES_MAX = 16 << 20

/** Throws 403 for a key that may not upload what the request holds, or not read the stream that it names. */
function assertMayTry(caller: Caller, { processors, stream_id }: Body): void {
  const isUpload = processors.some(({ module_id }) => module_id === undefined)
  if (isUpload && !caller.scopes.includes('smartmodules:write'))
    throw new ServiceError('forbidden', 'the API key lacks the scope smartmodules:write, which is needed to try an upload')
  if (stream_id !== undefined) assertMayUse(caller, { source: { connector_id: streamConnector.id, config: {} } })
}

/** The steps, with the binaries of those that are not deployed. Throws 400 naming what can't be used. */
async function resolveTrial({ db, workshop }: Pick<Deps, 'db' | 'workshop'>, { accountId }: Caller, processors: Body['processors']) {
  const binaries = new Map<string, Uint8Array>()
  const steps: ResolvedStep[] = []
  const details: Detail[] = []
  let bytes = 0
  for (const [
    index,
    {
      module_id,
      version,
      source,
      wasm_binary,
      name = source ? 'source' : 'wasm_binary',
      config,
      input_format,
      output_format,
      allowed_hosts,
    },
  ] of processors.entries()) {
    if (module_id !== undefined) {
      const found: Detail[] = []
      const entry = { module_id, config, changes_keys: false, ...(version === undefined ? {} : { version }) }
      const [step] = await resolveSteps(db, accountId, [entry], found)
      details.push(...found.map(({ path, message }) => ({ path: path.replace('/processors/0', `/processors/${index}`), message })))
      if (step) steps.push({ ...step, index, definition: { ...step.definition, on_error: ON_ERROR_DEFAULT } })
      continue
    }
    const upload = { source: source ?? null, wasm_binary }
    const { kind, extismFunction, binary, sha256, parameters } = await inspectUpload(
      workshop,
      accountId,
      upload,
      {},
      `/processors/${index}`,
    )
    binaries.set(sha256, binary)
    bytes += binary.length
    if (bytes > UPLOAD_BYTES_MAX)
      throw invalidRequest([{ path: `/processors/${index}`, message: `the uploads have more than ${UPLOAD_BYTES_MAX >> 20} MiB together` }])
    const own = { ...UNDEPLOYED, name, sha256, kind, ...(extismFunction ? { extism_function: extismFunction } : {}) }
    steps.push({
      index,
      bytes: binary.length,
      parameters,
      definition: { ...own, config, input_format, output_format, ...(allowed_hosts ? { allowed_hosts } : {}) },
    })
  }
  return { steps, binaries, details }
}

export const testSmartModuleOperation = operation(testSmartModuleContract, async (deps, caller, { body }) => {
  assertMayTry(caller, body)
  const { steps, binaries, details } = await resolveTrial(deps, caller, body.processors)
  const owner = { id: 'test', account_id: caller.accountId }
  details.push(...(await chainFaults(deps, owner, steps, details.length > 0, binaries)))
  if (details.length > 0) throw invalidRequest(details)
  const { records, isCut, codec } = body.records
    ? {
        records: givenRecords(body.records, caller.text === undefined ? [] : valueTexts(caller.text, body.records.length)),
        isCut: false,
        codec: undefined,
      }
    : await streamRecords(deps, caller, body, body.stream_id ?? '', body.processors.length)
  const chain = {
    account_id: caller.accountId,
    pipeline_id: 'test',
    steps: steps.map(({ definition }) => definition),
    ...JSON_ENDS,
    source: { ...JSON_ENDS.source, codec },
  }
  const traces = await traceThrough(deps, chain, records, binaries)
  return { status: 200, body: { records: traces, ...notRun(records, traces), ...(isCut ? { truncated: true as const } : {}) } }
})
