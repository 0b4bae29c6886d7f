/** Whether a list has the same item twice. Items of long lists are found by a hash, so that thousands take few more steps than they are. */
import { compareNumbers, isNumber, isSame } from '../cel/compare'
import { itemsOf, keysOf } from '../cel/json'
import { K, Value, isTooMuch, spend } from '../cel/value'

/** Equality of JSON: numbers by their value, objects whatever the order of their members. */
export function isEqual(a: Value, b: Value): bool {
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b) == 0
  return a.kind == b.kind && isSame(a, b)
}

/** So few are compared pair by pair. */
const FEW: i32 = 16

export function hasTwice(items: Value[]): bool {
  const count = items.length
  if (count > FEW) return hasTwiceByHash(items)
  for (let i = 1; i < count; i++) {
    for (let k = 0; k < i; k++) {
      if (isTooMuch(1)) return false
      if (isEqual(items[i], items[k])) return true
    }
  }
  return false
}

/** Items by their hashes, from the place that the hash names on: the index and one, 0 where there is none; then the hash. */
let slots: StaticArray<u32> = new StaticArray<u32>(0)

function hasTwiceByHash(items: Value[]): bool {
  const count = items.length
  if (isTooMuch(count)) return false
  // At most half of the places are taken.
  const places = 1 << (32 - (clz(count - 1) as i32) + 1)
  if (slots.length < 2 * places) {
    spend(8 * places)
    slots = new StaticArray<u32>(2 * places)
  } else memory.fill(changetype<usize>(slots), 0, 8 * places)
  for (let i = 0; i < count; i++) {
    const hash = hashOf(items[i])
    let place = hash & (places - 1)
    while (unchecked(slots[2 * place]) != 0) {
      if (isTooMuch(1)) return false
      if (unchecked(slots[2 * place + 1]) == hash && isEqual(items[i], items[unchecked(slots[2 * place]) - 1])) return true
      place = (place + 1) & (places - 1)
    }
    unchecked((slots[2 * place] = i + 1))
    unchecked((slots[2 * place + 1] = hash))
  }
  return false
}

/** Spreads what the lowest bits of neighbours have in common. */
function mixed(bits: u64): u32 {
  bits = (bits ^ (bits >> 33)) * 0xff51afd7ed558ccd
  return ((bits ^ (bits >> 33)) * 0xc4ceb9fe1a85ec53 >> 32) as u32
}

/** The same for all numbers that are equal, whatever their types. */
function hashOfNumber(value: Value): u32 {
  const d = value.kind == K.Double ? value.d : value.kind == K.Int ? (value.n as f64) : ((value.n as u64) as f64)
  // A whole number by all of its bits, not by those of its double, which many large ones share.
  if (Math.abs(d) < 9223372036854775808.0 && Math.trunc(d) == d) return mixed((value.kind == K.Double ? (d as i64) : value.n) as u64)
  return mixed(reinterpret<u64>(d))
}

function hashOf(value: Value): u32 {
  if (isTooMuch((value.kind == K.String ? value.length >> 4 : 1) as i32)) return 0
  if (isNumber(value)) return hashOfNumber(value)
  let hash: u32 = 2166136261
  if (value.kind == K.String) {
    for (let i: usize = 0; i < value.length; i++) hash = (hash ^ (load<u8>(value.ptr + i) as u32)) * 16777619
    return hash
  }
  if (value.kind == K.List) {
    const items = itemsOf(value)
    for (let i = 0; i < items.length; i++) hash = (hash ^ hashOf(items[i])) * 16777619
    return hash
  }
  if (value.kind == K.Map) {
    const keys = keysOf(value)
    const items = itemsOf(value)
    // A sum: members have no order.
    for (let i = 0; i < keys.length; i++) hash += mixed(((hashOf(keys[i]) as u64) << 32) | (hashOf(items[i]) as u64))
    return hash
  }
  return mixed(((value.kind as u64) << 1) + (value.n as u64))
}
