/** Different names with the same hash, made to slow a table of names down. */

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193
const BLOCK = 6
const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const BLOCKS = LETTERS.length ** BLOCK
/** Without a factor of 26, so that each block comes once. Neighbours would have hashes far from random: seven million would be tried. */
const STEP = 123_456_789

/** FNV-1a of the text from a state on, 32 bits. */
function hashFrom(state: number, text: string): number {
  let hash = state
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME) >>> 0
  return hash
}

const blockOf = (n: number): string =>
  Array.from({ length: BLOCK }, (_, at) => LETTERS[Math.floor(((n * STEP) % BLOCKS) / LETTERS.length ** at) % LETTERS.length]).join('')

/** Two blocks that lead from one state to the same next one: some 65,000 of them are tried. */
function collision(state: number): { next: number; pair: [string, string] } {
  const seen = new Map<number, string>()
  for (let n = 0; ; n++) {
    const block = blockOf(n)
    const next = hashFrom(state, block)
    const other = seen.get(next)
    if (other !== undefined) return { next, pair: [other, block] }
    seen.set(next, block)
  }
}

/** 2^`bits` names of lower-case letters, all of one hash in FNV-1a with 32 bits. */
export function collidingNames(bits: number): string[] {
  let names = ['']
  for (let bit = 0, state = FNV_OFFSET; bit < bits; bit++) {
    const { next, pair } = collision(state)
    state = next
    names = names.flatMap((name) => pair.map((block) => name + block))
  }
  return names
}
