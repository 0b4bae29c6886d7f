/** Every operation behind a token, in the order of the docs. Another one is a file and a line here. */
import type { Operation } from './operation.ts'
import { getConnectorOperation, listConnectorsOperation } from './connectors/connectors.ts'
import { createKeyOperation, deleteKeyOperation, listKeysOperation } from './keys/keys.ts'
import { createPipeline } from './pipelines/create-pipeline.ts'
import {
  deletePipelineOperation,
  getPipelineOperation,
  getPipelineStatus,
  listPipelinesOperation,
  pipelineActions,
} from './pipelines/pipelines.ts'
import { deploySmartModule } from './smartmodules/deploy-smartmodule.ts'
import { deleteSmartModuleOperation, getSmartModuleOperation, listSmartModulesOperation } from './smartmodules/smartmodules.ts'
import { createStream } from './streams/create-stream.ts'
import { getStreamData, writeStreamData } from './streams/stream-data.ts'
import { deleteStreamOperation, getStreamOperation, listStreamsOperation } from './streams/streams.ts'

export const OPERATIONS: readonly Operation[] = [
  listKeysOperation,
  createKeyOperation,
  deleteKeyOperation,
  listSmartModulesOperation,
  deploySmartModule,
  getSmartModuleOperation,
  deleteSmartModuleOperation,
  listConnectorsOperation,
  getConnectorOperation,
  listPipelinesOperation,
  createPipeline,
  getPipelineOperation,
  deletePipelineOperation,
  getPipelineStatus,
  ...pipelineActions,
  listStreamsOperation,
  createStream,
  getStreamOperation,
  deleteStreamOperation,
  getStreamData,
  writeStreamData,
]
