/**
 * Every operation that requires a token, in the order of the docs; those without one are in `app.ts`. A new operation is an import and an
 * entry here. `observability/` has what a running pipeline shows; what changes it is in `pipelines/`.
 */
import {
  createMemberLinkOperation,
  createMemberOperation,
  deleteMemberOperation,
  getMemberOperation,
  listMembersOperation,
  updateMemberOperation,
} from './members/members.ts'
import { changePasswordOperation, createSession, deleteSessionOperation, getSessionOperation } from './members/sessions.ts'
import type { Contract } from '../../../shared/api/contract.ts'
import { ingestContract } from '../../../shared/api/ingest.ts'
import { getSignInMethodsContract } from '../../../shared/api/members.ts'
import { createToken } from './create-token.ts'
import type { Operation } from './operation.ts'
import { getAccountOperation } from './account.ts'
import { listAuditOperation } from './audit.ts'
import { checkConnectorOperation, getConnectorOperation, listConnectorsOperation, validateConnectorOperation } from './connectors.ts'
import {
  getDeadLetterOperation,
  listDeadLetterGroupsOperation,
  listDeadLettersOperation,
  redriveDeadLettersOperation,
} from './dead-letters.ts'
import { cancelJobOperation, getJobOperation, listJobsOperation, replayPipelineOperation } from './jobs.ts'
import { createKeyOperation, deleteKeyOperation, listKeysOperation } from './keys.ts'
import { getPipelineAccountingOperation } from './observability/accounting.ts'
import { explainRecordOperation } from './observability/explain-record.ts'
import { getPipelineHistoryOperation } from './observability/history.ts'
import { getPipelineLedgerOperation } from './observability/ledger.ts'
import { getPipelineMetricsOperation } from './observability/metrics.ts'
import { getPipelineOffsetsOperation } from './observability/offsets.ts'
import { previewPipelineOperation } from './observability/preview-pipeline.ts'
import { applyManifestOperation, getManifestOperation, listManifestsOperation, planManifestOperation } from './manifests/manifests.ts'
import { followEventsOperation } from './events.ts'
import { getLineageOperation } from './lineage.ts'
import { getOverviewOperation } from './overview.ts'
import { getPipelineLogsOperation } from './observability/logs.ts'
import { tailPipelineOperation } from './observability/tail.ts'
import { createPipelineOperation } from './pipelines/create-pipeline.ts'
import {
  deletePipelineOperation,
  getPipelineOperation,
  getPipelineStatusOperation,
  listPipelinesOperation,
  pipelineActions,
} from './pipelines/pipelines.ts'
import { getCanaryOperation, promoteCanaryOperation } from './pipelines/canary.ts'
import { resetOffsetsOperation } from './pipelines/reset-offsets.ts'
import { planPipelineOperation, updatePipelineOperation } from './pipelines/update-pipeline.ts'
import { compileSmartModuleOperation } from './smartmodules/compile-smartmodule.ts'
import { compareSmartModuleVersionsOperation } from './smartmodules/compare-versions.ts'
import { testSmartModuleOperation } from './smartmodules/test-smartmodule.ts'
import { deploySmartModuleOperation } from './smartmodules/deploy-smartmodule.ts'
import {
  deleteSmartModuleOperation,
  getSmartModuleOperation,
  getSmartModuleVersionOperation,
  listSmartModulesOperation,
  listSmartModuleVersionsOperation,
} from './smartmodules/smartmodules.ts'
import { createSecretOperation, deleteSecretOperation, getSecretOperation, listSecretsOperation, updateSecretOperation } from './secrets.ts'
import { createStreamOperation } from './streams/create-stream.ts'
import { updateStreamOperation } from './streams/update-stream.ts'
import { tailStreamOperation } from './streams/tail.ts'
import { getStreamDataOperation, writeStreamDataOperation } from './streams/stream-data.ts'
import { checkStreamSchemaOperation, listStreamSchemasOperation } from './streams/schemas.ts'
import { getStreamRecordsOperation } from './streams/stream-records.ts'
import { deleteStreamOperation, getStreamOperation, listStreamsOperation } from './streams/streams.ts'

export const OPERATIONS: readonly Operation[] = [
  getAccountOperation,
  listKeysOperation,
  createKeyOperation,
  deleteKeyOperation,
  listAuditOperation,
  listSmartModulesOperation,
  compileSmartModuleOperation,
  testSmartModuleOperation,
  deploySmartModuleOperation,
  getSmartModuleOperation,
  listSmartModuleVersionsOperation,
  getSmartModuleVersionOperation,
  compareSmartModuleVersionsOperation,
  deleteSmartModuleOperation,
  listConnectorsOperation,
  getConnectorOperation,
  validateConnectorOperation,
  checkConnectorOperation,
  listManifestsOperation,
  planManifestOperation,
  applyManifestOperation,
  getManifestOperation,
  getOverviewOperation,
  getLineageOperation,
  followEventsOperation,
  listPipelinesOperation,
  createPipelineOperation,
  getPipelineOperation,
  updatePipelineOperation,
  planPipelineOperation,
  deletePipelineOperation,
  getPipelineStatusOperation,
  ...pipelineActions,
  getPipelineOffsetsOperation,
  resetOffsetsOperation,
  getPipelineAccountingOperation,
  getPipelineMetricsOperation,
  getPipelineLedgerOperation,
  getPipelineHistoryOperation,
  getPipelineLogsOperation,
  tailPipelineOperation,
  explainRecordOperation,
  previewPipelineOperation,
  getCanaryOperation,
  promoteCanaryOperation,
  listDeadLettersOperation,
  redriveDeadLettersOperation,
  // Before the one below, whose path it would match too.
  listDeadLetterGroupsOperation,
  getDeadLetterOperation,
  replayPipelineOperation,
  listJobsOperation,
  getJobOperation,
  cancelJobOperation,
  getSessionOperation,
  deleteSessionOperation,
  changePasswordOperation,
  listMembersOperation,
  createMemberOperation,
  getMemberOperation,
  updateMemberOperation,
  deleteMemberOperation,
  createMemberLinkOperation,
  listSecretsOperation,
  createSecretOperation,
  getSecretOperation,
  updateSecretOperation,
  deleteSecretOperation,
  listStreamsOperation,
  createStreamOperation,
  getStreamOperation,
  updateStreamOperation,
  listStreamSchemasOperation,
  checkStreamSchemaOperation,
  deleteStreamOperation,
  getStreamDataOperation,
  getStreamRecordsOperation,
  tailStreamOperation,
  writeStreamDataOperation,
]

/** All contracts of the API, those that need no token first: what `/openapi.json` describes. */
export const CONTRACTS: readonly Contract[] = [
  createToken.contract,
  createSession.contract,
  getSignInMethodsContract,
  ingestContract,
  ...OPERATIONS.map(({ contract }) => contract),
]
