/** Keeps orders with an amount above the given one. */
import { Path, Record } from 'dps'

export class Settings {
  /** Orders with this amount or a smaller one are dropped. */
  above: f64 = 100
}
export const settings = new Settings()

const amount = new Path('amount')

export function filter(record: Record): bool {
  return record.number(amount) > settings.above
}
