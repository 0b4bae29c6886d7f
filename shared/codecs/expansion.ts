/** How much JSON a value may become: names that its bytes don't have are in it, so that some kilobytes could become gigabytes. */
const PER_BYTE = 64
const FLOOR = 8 << 20

/** What may still be spent of the JSON of one value. */
export type JsonBudget = {
  /** Begins a value of so many bytes. */
  begin(bytes: number): void
  /** Throws an Error when the value becomes too much. */
  spend(characters: number): void
}

/** Returns a budget that is without a limit until the first value begins. */
export function createJsonBudget(): JsonBudget {
  let left = Infinity
  return {
    begin(bytes) {
      left = PER_BYTE * bytes + FLOOR
    },
    spend(characters) {
      left -= characters
      if (left < 0)
        throw new Error('the value would become too much JSON: its type has many fields, or long names, that take few bytes in it')
    },
  }
}
