/** The stack's parts as containers, where a container engine answers. The same shapes as the local processes; testcontainers owns them. */
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers'
import { KafkaContainer } from '@testcontainers/kafka'
import { randomBytes } from 'node:crypto'
import { PostgreSqlContainer } from '@testcontainers/postgresql'
import { RedisContainer } from '@testcontainers/redis'

import { DEMO_BUCKET, ensureBucket, type BucketPlace } from './bucket.ts'

export type ContainerPart<T> = T & { stop(): Promise<void> }

/** True when a container engine answers within a few seconds. */
export async function hasContainerEngine(): Promise<boolean> {
  return getContainerRuntimeClient().then(
    () => true,
    () => false,
  )
}

export async function kafkaContainer(): Promise<ContainerPart<{ brokers: string[] }>> {
  const container = await new KafkaContainer('apache/kafka:4.1.1')
    .withEnvironment({ KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false', KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0' })
    .start()
  return { brokers: [`${container.getHost()}:${container.getMappedPort(9093)}`], stop: async () => void (await container.stop()) }
}

export async function postgresContainer(): Promise<ContainerPart<{ url: string }>> {
  const container = await new PostgreSqlContainer('postgres:18-alpine').start()
  return { url: container.getConnectionUri(), stop: async () => void (await container.stop()) }
}

export async function redisContainer(): Promise<ContainerPart<{ url: string }>> {
  const container = await new RedisContainer('redis:7-alpine').start()
  return { url: container.getConnectionUrl(), stop: async () => void (await container.stop()) }
}

export async function bucketContainer(): Promise<ContainerPart<BucketPlace>> {
  const access_key = 'local'
  const secret_key = randomBytes(20).toString('hex')
  const container = await new GenericContainer('versity/versitygw:v1.8.0')
    .withEnvironment({ ROOT_ACCESS_KEY: access_key, ROOT_SECRET_KEY: secret_key })
    .withCommand(['--port', ':7070', 'posix', '--sidecar', '/tmp', '/mnt'])
    .withExposedPorts(7070)
    .start()
  const place = { endpoint: `http://${container.getHost()}:${container.getMappedPort(7070)}`, access_key, secret_key, name: DEMO_BUCKET }
  await ensureBucket(place)
  return { ...place, stop: async () => void (await container.stop()) }
}

export async function registryContainer(): Promise<ContainerPart<{ url: string }>> {
  const container = await new GenericContainer('apicurio/apicurio-registry:3.3.3')
    .withEnvironment({ APICURIO_RULES_GLOBAL_COMPATIBILITY: 'BACKWARD' })
    .withExposedPorts(8080)
    .withWaitStrategy(Wait.forHttp('/apis/ccompat/v7/subjects', 8080))
    .start()
  return {
    url: `http://${container.getHost()}:${container.getMappedPort(8080)}/apis/ccompat/v7`,
    stop: async () => void (await container.stop()),
  }
}
