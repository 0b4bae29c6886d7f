/** Runs records through steps that need not be deployed: sources, binaries, or SmartModules of the account. */
import type { z } from 'zod'
import { testSmartModuleContract } from '../../../../shared/api/smartmodules.ts'
import { ON_ERROR_DEFAULT } from '../../../../shared/model/policies.ts'
import { streamConnector } from '../../../../shared/connectors/stream/connector.ts'
import { assertMayUse } from '../../definitions/may-use.ts'
import { chainFaults, resolveSteps, type ResolvedStep } from '../../definitions/resolve-steps.ts'
import { invalidRequest, lacksScope, type Detail } from '../../service-error.ts'
import { findPipeline } from '../../store/pipelines.ts'
import { pipelineRecords, tracedBody, type Chosen, type ReadDeps } from '../../trace/pipeline-records.ts'
import { JSON_ENDS, traceThrough, type Chain } from '../../trace/trace.ts'
import type { Caller, Deps } from '../../deps.ts'
import { operation } from '../operation.ts'
import { givenRecords, UNDEPLOYED, valueTexts } from './given-records.ts'
import { streamRecords } from '../../trace/stream-records.ts'
import { inspectUpload } from './upload.ts'

type Body = z.output<typeof testSmartModuleContract.request.body>

/** All binaries of one request together. */
const UPLOAD_BYTES_MAX = 16 << 20

/** Throws 403 for a caller that may not upload what the request holds, or not read the stream or pipeline that it names. */
function assertMayTry(caller: Caller, { processors, stream_id, pipeline_id }: Body): void {
  const isUpload = processors.some(({ module_id }) => module_id === undefined)
  if (isUpload && !caller.scopes.includes('smartmodules:write')) throw lacksScope(caller, 'smartmodules:write', 'to try an upload')
  const missing = pipeline_id !== undefined && (['pipelines:read', 'streams:read'] as const).find((scope) => !caller.scopes.includes(scope))
  if (missing) throw lacksScope(caller, missing, 'to read records of a pipeline')
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

/** The records that the body asks for, and the ends that the steps have. Throws 400 for a stream or pipeline that is not the account's. */
async function chosenBy(deps: ReadDeps, caller: Caller, body: Body): Promise<{ chosen: Chosen; ends: Pick<Chain, 'source' | 'sink'> }> {
  const steps = body.processors.length
  if (body.pipeline_id !== undefined) {
    const pipeline = await findPipeline(deps.db, caller.accountId, body.pipeline_id)
    if (!pipeline) throw invalidRequest([{ path: '/pipeline_id', message: 'is not the id of a pipeline' }])
    return { chosen: await pipelineRecords(deps, pipeline, body, steps), ends: pipeline.definition }
  }
  if (body.stream_id !== undefined) {
    const { codec, ...chosen } = await streamRecords(deps, caller, body, body.stream_id, steps)
    return { chosen, ends: { ...JSON_ENDS, source: { ...JSON_ENDS.source, codec } } }
  }
  const given = body.records ?? []
  const texts = caller.text === undefined ? [] : valueTexts(caller.text, given.length)
  return { chosen: { records: givenRecords(given, texts), isCut: false }, ends: JSON_ENDS }
}

export const testSmartModuleOperation = operation(testSmartModuleContract, async (deps, caller, { body }) => {
  assertMayTry(caller, body)
  const { steps, binaries, details } = await resolveTrial(deps, caller, body.processors)
  const owner = { id: 'test', account_id: caller.accountId }
  details.push(...(await chainFaults(deps, owner, steps, details.length > 0, binaries)))
  if (details.length > 0) throw invalidRequest(details)
  const { chosen, ends } = await chosenBy(deps, caller, body)
  const chain = {
    account_id: caller.accountId,
    pipeline_id: body.pipeline_id ?? 'test',
    steps: steps.map(({ definition }) => definition),
    source: ends.source,
    sink: ends.sink,
  }
  const traces = await traceThrough(deps, chain, chosen.records, binaries)
  return { status: 200, body: tracedBody(chosen, traces) }
})
