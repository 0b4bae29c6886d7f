/** What other clients do to topics that streams are made over: schemas by the registry's own API, values framed by hand. */
import kafkajs from 'kafkajs'
import { afterAll } from 'vitest'
import { service } from './client.ts'
import { exactProducer } from './exact-producer.ts'

type Reference = { name: string; subject: string; version: number }
export async function register(subject: string, schemaType: string, schema: string, references: Reference[] = []): Promise<number> {
  const answer = await fetch(`${service().registryUrl}/subjects/${subject}/versions`, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify({ schemaType, schema, references }),
  })
  if (!answer.ok) throw new Error(`registering answered ${answer.status}: ${await answer.text()}`)
  return ((await answer.json()) as { id: number }).id
}
export const framed = (id: number, value: Buffer | string) => {
  const prefix = Buffer.alloc(5)
  prefix.writeInt32BE(id, 1)
  return Buffer.concat([prefix, Buffer.from(value as string)])
}

/** Connected clients of the brokers, for the tests of a file. */
export async function useKafka() {
  const kafka = new kafkajs.Kafka({ brokers: service().brokers, logLevel: kafkajs.logLevel.NOTHING })
  const [admin, producer] = [kafka.admin(), exactProducer(kafka)]
  await Promise.all([admin.connect(), producer.connect()])
  afterAll(() => Promise.all([admin.disconnect(), producer.disconnect()]))
  return { admin, producer }
}
