/**
 * How the keys of the last document were written, by their places in it. Records of one topic have mostly the same keys, and the end of an
 * expected one need not be searched.
 *
 * A place is 32 bytes: the key with its quotes and its colon (16 bytes), its length up to the closing quote, a bit for each byte, and the
 * first place of the keys in the objects that are its value. The places of one object lie side by side; the last of them expects nothing.
 */
const PLACE_BYTES: usize = 32
const PLACES: i32 = 64
const NESTED_PLACES: i32 = 16
/** Objects at so many places of a document have places of their own. */
const NESTED_OBJECTS: i32 = 64
/** Bits that no 16 bytes have: of a place without a key, and of an object's last one. */
const NOTHING: u32 = 0xfffffffe
const LAST: u32 = 0xffffffff

/** A place that expects nothing, nor anything behind or below it. */
export const NOWHERE: usize = heap.alloc(PLACE_BYTES)
store<u32>(NOWHERE, LAST, 20)
store<u32>(NOWHERE, NOWHERE as u32, 24)
let objectsLeft: i32 = NESTED_OBJECTS
/** The place of a document's first key. */
export const FIRST: usize = placesOf(PLACES)

function placesOf(count: i32): usize {
  const first = heap.alloc(((count as usize) + 1) * PLACE_BYTES)
  for (let i = 0; i < count; i++) {
    store<u32>(first + (i as usize) * PLACE_BYTES, NOTHING, 20)
    store<u32>(first + (i as usize) * PLACE_BYTES, 0, 24)
  }
  memory.copy(first + (count as usize) * PLACE_BYTES, NOWHERE, PLACE_BYTES)
  return first
}

/** The length of the key at a place, from its opening quote to its closing one. */
// @ts-ignore: decorator
@inline
export function lengthAt(place: usize): usize { return load<u32>(place, 16) as usize }

/** Whether the bytes at `p` are the place's key and a colon. Reads up to 15 bytes past them. */
// @ts-ignore: decorator
@inline
export function isAt(place: usize, p: usize): bool {
  const all = load<u32>(place, 20)
  return ((i8x16.bitmask(i8x16.eq(v128.load(p), v128.load(place))) as u32) & all) == all
}

// @ts-ignore: decorator
@inline
export function nextPlace(place: usize): usize { return load<u32>(place, 20) == LAST ? place : place + PLACE_BYTES }

/** The first place of the objects that are the value at this place, or items of it. */
// @ts-ignore: decorator
@inline
export function placeBelow(place: usize): usize {
  const below = load<u32>(place, 24) as usize
  return below != 0 ? below : makePlaces(place)
}

function makePlaces(place: usize): usize {
  const below = objectsLeft > 0 ? placesOf(NESTED_PLACES) : NOWHERE
  objectsLeft--
  store<u32>(place, below as u32, 24)
  return below
}

/** Expects the key with its quotes [p, close], which a colon follows, at this place of the next document; false where that can't be. */
export function expectKey(place: usize, p: usize, close: usize): bool {
  const length = close - p
  if (load<u32>(place, 20) == LAST || length > 14) return false
  v128.store(place, v128.load(p))
  store<u32>(place, length as u32, 16)
  store<u32>(place, (((1 as u32) << ((length as u32) + 2)) - 1), 20)
  return true
}
