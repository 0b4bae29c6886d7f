/** What a broker answers instead of a result. */
import { kafkaErrorName } from './wire/error-codes.ts'

/** A broker's error answer; the message holds the code and its name. */
export class KafkaError extends Error {
  readonly code: number
  constructor(code: number, cause?: unknown) {
    super(kafkaErrorName(code), { cause })
    this.name = 'KafkaError'
    this.code = code
  }
}
