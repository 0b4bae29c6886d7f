/** What unit tests of runners and their groups start them with: no broker to reach, and no definitions. */
import { cacheFolder } from '../../deploy/local/cache.ts'
import type { Settings } from '../../services/processor/channel/protocol.ts'
import type { RunnerGroupOptions } from '../../services/processor/supervisor/runner-group.ts'

export const runnerSettings: Settings = {
  processorId: 'processor-1',
  // No broker is asked before there is a task.
  brokers: ['127.0.0.1:1'],
  security: { tls: false },
  prefix: 'unit',
  cacheFolder: cacheFolder(),
  lanes: 1,
  roundBytesMax: 1 << 20,
  fetchBudgetBytes: 16 << 20,
  callTimeoutMs: 1000,
  sessionTimeoutMs: 6000,
  logLevel: 'silent',
}

/** The options of a runner's group that say what there is to run: nothing. */
export const nothingDefined: Pick<RunnerGroupOptions, 'definitions' | 'connectorDefaults'> = {
  definitions: {
    pipelines: new Map(),
    revision: () => undefined,
    account: () => undefined,
    secretsOf: () => ({}),
    secretsVersion: () => 0,
    smartModule: () => undefined,
    caughtUp: Promise.resolve(),
    close: () => Promise.resolve(),
  },
  connectorDefaults: { addresses: 'any', bucket_folders: [], per_account: { warehouse: false, bucket: false } },
}
