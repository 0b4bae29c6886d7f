/** What a broker's refusal means for a task. */
import { KAFKA_ERRORS, isOfTransaction, isRetriable } from '../../../shared/kafka/wire/error-codes.ts'
import { Interrupted } from '../interruption.ts'

/** What may pass is tried again without limit; anything else a bounded number of times. */
export function refusalOf(code: number, text: string): Interrupted {
  if (code === KAFKA_ERRORS.producerFenced) return new Interrupted('taken_over', text)
  return new Interrupted(isRetriable(code) || isOfTransaction(code) ? 'transaction_broken' : 'unknown', text)
}
