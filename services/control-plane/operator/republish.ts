/**
 * Publishes anew what processors run: `republish.ts` with the control plane's environment, beside a running control plane. Needed after
 * Postgres was restored from a backup, or the topic of definitions was lost (docs/operating/upgrades.md). Prints what differed.
 */
import { kafkaSecurityOf, loadControlPlaneConfig } from '../../../shared/config/config.ts'
import { openKafkaSecurity } from '../../../shared/kafka/admin/security.ts'
import { openCluster } from '../../../shared/kafka/cluster.ts'
import { followTopic } from '../../../shared/kafka/follow.ts'
import { definitionKeys, serviceNames } from '../../../shared/model/definition.ts'
import { operatorSettings } from './operator-settings.ts'
import { republish } from '../publisher/republish.ts'
import { openDatabase } from '../store/database.ts'

const config = operatorSettings(loadControlPlaneConfig)
const security = openKafkaSecurity(kafkaSecurityOf(config), config.KAFKA_BROKERS)
const cluster = openCluster({ brokers: config.KAFKA_BROKERS, clientId: 'republish', connection: security.connection })
const db = openDatabase(config.DATABASE_URL, 1)

/** The newest value of each key; of binaries only that they are there. */
async function readTopic(): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>()
  const failed = Promise.withResolvers<never>()
  const following = followTopic({
    cluster,
    topic: serviceNames(config.DPS_PREFIX).definitions,
    purpose: 'republish',
    from: 0n,
    waitsForOpen: true,
    onRecords(records) {
      for (const { key, value } of records)
        if (value === null) found.delete(key)
        else found.set(key, key.startsWith(definitionKeys.smartModule('')) ? Buffer.alloc(0) : Buffer.from(value))
    },
    onError: failed.reject,
  })
  try {
    await Promise.race([following.caughtUp, failed.promise])
    return found
  } finally {
    await following.close()
  }
}

try {
  const onTopic = await readTopic()
  const done = await db.transaction((trx) => republish(trx, onTopic))
  process.stdout.write(`${JSON.stringify(done)}\n`)
} finally {
  await db.destroy()
  await cluster.close()
}
