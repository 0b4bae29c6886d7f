/**
 * The exports of the host's kernel (`kernel/`, documented there), and functions that load and fill it.
 * HOT: called once or a few times per record batch.
 */
export type Kernel = {
  /** What it is an instance of. */
  module: WebAssembly.Module
  memory: WebAssembly.Memory
  reserve(length: number): number
  openBatch(length: number, count: number, lastDelta: number, firstDelta: number, isDerived: boolean): number
  /** Before a batch: the step (1, 2, …) whose values must have the frame of this schema id, with something after it; 0 for none. */
  expectFrame(step: number, schemaId: number): void
  take(length: number, count: number, step: number): number
  /** `take` for a step whose output is the current section as it is. */
  takeSame(step: number): number
  currentPtr(): number
  currentLength(): number
  currentCount(): number
  currentDistinct(): number
  currentLargest(): number
  /** Values of the section last walked that are not framed as they must be. */
  currentUnframed(): number
  /** Its earliest and latest timestamps, less the batch's own. */
  currentEarliest(): bigint
  currentLatest(): bigint
  deltaOf(ordinal: number): number
  fail(delta: number): number
  run(from: number, most: number): number
  runCount(): number
  positionOf(ordinal: number): number
  findLarger(from: number, most: number): number
  findUntimely(from: number, earliest: bigint, latest: bigint): number
  findUnframed(from: number): number
  findKeyless(from: number): number
  dropFailed(): number
  hasFailed(): number
  reframe(from: number, schemaId: number): number
  /** Puts aside the records whose keys' hashes are below `threshold`, for another version of a step; returns how many. */
  split(threshold: number, baseOffset: bigint): number
  /** Whether the source record at this offsetDelta was put aside since the batch was opened: 1 or 0. */
  wasAside(delta: number): number
  /** Makes what is aside the current section, and puts that aside. */
  exchange(): void
  /** Joins the current section and what is aside, by deltas. */
  merge(): void
  gatherBegin(): void
  /** Adds the section copied in last; returns the bytes gathered so far, -1 when it is malformed or too far from the first one. */
  gather(
    length: number,
    count: number,
    lastDelta: number,
    baseOffset: bigint,
    baseTimestamp: bigint,
    maxTimestamp: bigint,
    attributes: number,
  ): number
  /** Gathers the section copied in last alone, its records without times of their own; 0 when it is malformed. */
  gatherTimeless(length: number, count: number, lastDelta: number): number
  /** Adds whole batches of the bytes copied in last, until one must be looked at by itself; returns the bytes passed. */
  gatherBatches(length: number, position: bigint, until: bigint): number
  /** The offset after the batches passed last. */
  gatherPassedTo(): bigint
  gatheredAt(): number
  gatheredBytes(): number
  gatheredRecords(): number
  gatheredFirstOffset(): bigint
  gatheredLastDelta(): number
  gatheredBaseTimestamp(): bigint
  gatheredMaxTimestamp(): bigint
  gatheredAttributes(): number
  /** Selects another partition's output batch; 0 is selected at first. */
  select(slot: number): void
  selected(): number
  begin(baseTimestamp: bigint): void
  append(from: number, most: number, baseTimestamp: bigint, timestamp: bigint): number
  scatter(from: number, partitions: number, keyless: number, most: number, baseTimestamp: bigint, timestamp: bigint): number
  hash(length: number): number
  builtAt(): number
  builtBytes(): number
  builtRecords(): number
  builtBaseTimestamp(): bigint
  builtMaxTimestamp(): bigint
}

/** A new kernel instance, which holds one source batch at a time. */
export async function openKernel(module: WebAssembly.Module): Promise<Kernel> {
  const instance = await WebAssembly.instantiate(module, {
    env: {
      abort: () => {
        throw new Error('the host kernel ran out of memory')
      },
    },
  })
  return { ...(instance.exports as unknown as Kernel), module }
}

/** Whether the bytes are those of the kernel's current section. */
export function isSection(kernel: Kernel, bytes: Uint8Array): boolean {
  const length = kernel.currentLength()
  return bytes.length === length && Buffer.compare(bytes, new Uint8Array(kernel.memory.buffer, kernel.currentPtr(), length)) === 0
}

/** Copies bytes in as the kernel's current section. `reserve` may replace the memory's buffer, so the view is made after it. */
export function fillSection(kernel: Kernel, section: Uint8Array): void {
  const pointer = kernel.reserve(section.length)
  new Uint8Array(kernel.memory.buffer, pointer, section.length).set(section)
}
