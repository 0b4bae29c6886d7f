/** How tests write to Kafka as other clients do. */
import type { Kafka, Producer } from 'kafkajs'

/**
 * A producer that writes each record once. kafkajs sends a whole request again when one of its partitions is refused, as by a broker that
 * does not lead it yet; only the sequence numbers of an idempotent producer let the broker drop the other partitions' repeats (KIP-98).
 */
export const exactProducer = (kafka: Kafka): Producer => kafka.producer({ idempotent: true })
