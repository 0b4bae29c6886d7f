/**
 * Every operation that requires a token, in the order of the docs; those without one are in `app.ts`. A new operation is an import and an
 * entry here. `operate/` has what a running pipeline shows; what changes it is in `pipelines/`.
 */
import {
  createMemberLinkOperation,
  createMemberOperation,
  deleteMemberOperation,
  getMemberOperation,
  listMembersOperation,
  updateMemberOperation,
} from './members/members.ts'
import { changePasswordOperation, deleteSessionOperation, getSessionOperation } from './members/sessions.ts'
import type { Operation } from './operation.ts'
import { getAccountOperation } from './account.ts'
import { listAuditOperation } from './audit.ts'
import { checkConnectorOperation, getConnectorOperation, listConnectorsOperation, validateConnectorOperation } from './connectors.ts'
import { getDeadLetterOperation, listDeadLetterGroupsOperation, listDeadLettersOperation, redriveOperation } from './dead-letters.ts'
import { cancelJobOperation, getJobOperation, listJobsOperation, replayOperation } from './jobs.ts'
import { createKeyOperation, deleteKeyOperation, listKeysOperation } from './keys.ts'
import { getAccounting, getHistory, getLedger, getMetrics, getOffsets } from './operate/operate.ts'
import { applyManifest, getManifest, planManifest } from './manifests/manifests.ts'
import { followEvents } from './events.ts'
import { getLineage } from './lineage.ts'
import { getOverview } from './overview.ts'
import { getLogs } from './operate/logs.ts'
import { tailPipeline } from './operate/tail.ts'
import { explain, preview } from './operate/trace.ts'
import { createPipeline } from './pipelines/create-pipeline.ts'
import {
  deletePipelineOperation,
  getPipelineOperation,
  getPipelineStatus,
  listPipelinesOperation,
  pipelineActions,
} from './pipelines/pipelines.ts'
import { getCanary, promoteCanary } from './pipelines/canary.ts'
import { resetOffsetsOperation } from './pipelines/reset-offsets.ts'
import { planPipelineOperation, updatePipelineOperation } from './pipelines/update-pipeline.ts'
import { compileSmartModule } from './smartmodules/compile-smartmodule.ts'
import { compareVersions } from './smartmodules/compare-versions.ts'
import { testSmartModule } from './smartmodules/test-smartmodule.ts'
import { deploySmartModule } from './smartmodules/deploy-smartmodule.ts'
import {
  deleteSmartModuleOperation,
  getSmartModuleOperation,
  getVersionOperation,
  listSmartModulesOperation,
  listVersionsOperation,
} from './smartmodules/smartmodules.ts'
import { createSecretOperation, deleteSecretOperation, getSecretOperation, listSecretsOperation, updateSecretOperation } from './secrets.ts'
import { createStream } from './streams/create-stream.ts'
import { updateStreamOperation } from './streams/update-stream.ts'
import { tailStream } from './streams/tail.ts'
import { getStreamData, writeStreamData } from './streams/stream-data.ts'
import { checkStreamSchema, listStreamSchemas } from './streams/schemas.ts'
import { getStreamRecords } from './streams/stream-records.ts'
import { deleteStreamOperation, getStreamOperation, listStreamsOperation } from './streams/streams.ts'

export const OPERATIONS: readonly Operation[] = [
  getAccountOperation,
  listKeysOperation,
  createKeyOperation,
  deleteKeyOperation,
  listAuditOperation,
  listSmartModulesOperation,
  compileSmartModule,
  testSmartModule,
  deploySmartModule,
  getSmartModuleOperation,
  listVersionsOperation,
  getVersionOperation,
  compareVersions,
  deleteSmartModuleOperation,
  listConnectorsOperation,
  getConnectorOperation,
  validateConnectorOperation,
  checkConnectorOperation,
  planManifest,
  applyManifest,
  getManifest,
  getOverview,
  getLineage,
  followEvents,
  listPipelinesOperation,
  createPipeline,
  getPipelineOperation,
  updatePipelineOperation,
  planPipelineOperation,
  deletePipelineOperation,
  getPipelineStatus,
  ...pipelineActions,
  getOffsets,
  resetOffsetsOperation,
  getAccounting,
  getMetrics,
  getLedger,
  getHistory,
  getLogs,
  tailPipeline,
  explain,
  preview,
  getCanary,
  promoteCanary,
  listDeadLettersOperation,
  redriveOperation,
  // Before the one below, whose path it would match too.
  listDeadLetterGroupsOperation,
  getDeadLetterOperation,
  replayOperation,
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
  createStream,
  getStreamOperation,
  updateStreamOperation,
  listStreamSchemas,
  checkStreamSchema,
  deleteStreamOperation,
  getStreamData,
  getStreamRecords,
  tailStream,
  writeStreamData,
]
