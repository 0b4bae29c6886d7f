/**
 * An answer is read forwards. `@platformatic/kafka` believes the lengths in it, and a negative one leads back: some seventy bytes of an
 * account's broker kept the main thread of its runner for two billion turns. Where each item begins behind the one before, an answer has
 * no more items than bytes.
 */
import type { Reader } from './client-library.ts'

function assertForward({ position }: Reader, from: number): void {
  if (position < from) throw new RangeError('an answer of the broker has a negative length')
}

/** Makes readers of this prototype throw a RangeError for an item of a list, or a tagged field (KIP-482), that leads back. */
export function readOnlyForwards(prototype: Reader): void {
  const { readNullableArray } = prototype
  Object.assign(prototype, {
    readNullableArray<Item>(this: Reader, read: (reader: Reader, index: number) => Item, ...rest: [boolean?, boolean?]): Item[] | null {
      const readItem = (reader: Reader, index: number): Item => {
        const from = reader.position
        const item = read(reader, index)
        assertForward(reader, from)
        return item
      }
      return readNullableArray.call(this, readItem, ...rest) as Item[] | null
    },
    readTaggedFields(this: Reader): void {
      const count = this.readUnsignedVarInt()
      for (let at = 0; at < count; at++) {
        const from = this.position
        this.readUnsignedVarInt()
        this.skip(this.readUnsignedVarInt())
        assertForward(this, from + 1)
      }
    },
  })
}
