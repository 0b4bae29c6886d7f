/** Runs two versions of a SmartModule, or one with two configs, over the same records of a stream. */
import { compareSmartModuleVersionsContract } from '../../../../shared/api/canary.ts'
import { streamConnector } from '../../../../shared/connectors/stream/connector.ts'
import { assertMayUse } from '../../definitions/may-use.ts'
import { examineSteps } from '../../definitions/resolve-steps.ts'
import { invalidRequest, notFound } from '../../service-error.ts'
import { findSmartModuleReferred } from '../../store/smartmodules.ts'
import { compareSteps } from '../../trace/compare-steps.ts'
import { operation } from '../operation.ts'
import { streamRecords } from '../../trace/stream-records.ts'
import { JSON_ENDS } from '../../trace/trace.ts'

export const compareSmartModuleVersionsOperation = operation(compareSmartModuleVersionsContract, async (deps, caller, { params, body }) => {
  const row = await findSmartModuleReferred(deps.db, caller.accountId, params.id)
  if (!row) throw notFound('the SmartModule')
  assertMayUse(caller, { source: { connector_id: streamConnector.id, config: {} } })
  const entries = [body.before, body.after].map(({ version, config }) => ({
    module_id: row.id,
    config,
    changes_keys: false,
    ...(version === undefined ? {} : { version }),
  }))
  const { steps, details } = await examineSteps(deps, { id: 'compare', account_id: caller.accountId }, entries)
  const [before, after] = steps
  if (details.length > 0 || !before || !after) {
    const named = details.map(({ path, message }) => ({
      path: path.replace('/processors/0', '/before').replace('/processors/1', '/after'),
      message,
    }))
    throw invalidRequest(named)
  }
  const { records, isCut, codec } = await streamRecords(deps, caller, body, body.stream_id, 2)
  const source = { ...JSON_ENDS.source, codec }
  const chain = { ...JSON_ENDS, source, account_id: caller.accountId, pipeline_id: 'compare', steps: [before.definition] }
  const { compared, left, failed, differences } = await compareSteps(deps, chain, 0, after.definition, records)
  return {
    status: 200,
    body: { compared, differing: differences.length, failed, differences, ...(isCut || left > 0 ? { truncated: true as const } : {}) },
  }
})
