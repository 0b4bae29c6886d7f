/** What is used of the client library `@platformatic/kafka`, imported here alone: its import would take a third of a process's start. */
// Evaluated in this order: before the library, what makes its schemas lazy.
import { compileAtOnce } from './lazy-option-schemas.ts'
import { Reader } from '@platformatic/kafka'
import { readOnlyForwards } from './forward-only.ts'

export {
  ConnectionPool,
  Consumer,
  Writer,
  apiVersionsV4,
  compressionsAlgorithms,
  createAPI,
  describeGroupsV5,
  findCoordinatorV6,
  incrementalAlterConfigsV1,
  initProducerIdV5,
  listOffsetsV9,
  metadataV12,
  offsetCommitV9,
  offsetFetchV9,
  saslScramSha,
  txnOffsetCommitV4,
} from '@platformatic/kafka'
export type { Connection, ConnectionOptions, Reader } from '@platformatic/kafka'

readOnlyForwards(Reader.prototype)
compileAtOnce()
