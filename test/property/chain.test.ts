/** The chain over any input: policies, cuts and poison change a record's outcome, never whether it is accounted for. */
import fc from 'fast-check'
import kafkajs from 'kafkajs'
import { beforeAll, describe, expect, it } from 'vitest'
import { cacheFolder } from '../../deploy/local/cache.ts'
import { createFailureBook } from '../../services/processor/lane/failure-book.ts'
import { createAccounting } from '../../services/processor/task/accounting.ts'
import { createFailureThreshold } from '../../services/processor/task/failure-threshold.ts'
import { parseCommitMetadata } from '../../shared/model/commit-metadata.ts'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { fillSection, openKernel, type Kernel } from '../../shared/smartmodule/host/kernel.ts'
import { kernelBinary } from '../../shared/smartmodule/host/kernel-binary.ts'
import { openTestChain, type TestChain } from '../harness/chains.ts'
import { filterOverN } from '../harness/modules.ts'

describe('the kernel’s partitioner', () => {
  let kernel: Kernel
  beforeAll(async () => {
    kernel = await openKernel(await WebAssembly.compile(await kernelBinary(cacheFolder())))
  })

  it('hashes every key as kafkajs does', () => {
    const partitioner = kafkajs.Partitioners.DefaultPartitioner()
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70 }), fc.integer({ min: 1, max: 64 }), (bytes, partitions) => {
        const key = Buffer.from(bytes)
        const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
          partitionId,
          leader: 1,
          partitionErrorCode: 0,
          replicas: [1],
          isr: [1],
        }))
        // kafkajs treats an empty key as no key.
        fc.pre(key.length > 0)
        const expected = partitioner({ topic: 't', partitionMetadata, message: { key, value: null } })
        fillSection(kernel, key)
        expect((kernel.hash(key.length) & 0x7fffffff) % partitions).toBe(expected)
      }),
      { numRuns: 500 },
    )
  })
})

describe('a chain', () => {
  let chain: TestChain
  beforeAll(async () => {
    const failing = await WebAssembly.compile(
      await compileSmartModule(
        filterOverN(`if (value % 7 == 3) record.fail('three')\n  if (value % 11 == 5) unreachable()\n  return value % 2 == 0`),
      ),
    )
    chain = await openTestChain([{ name: 'failing', config: {} }], { failing })
  })
  const becomes = (n: number): 'failed' | 'trapped' | 'out' | 'filtered' =>
    n % 11 === 5 ? 'trapped' : n % 7 === 3 ? 'failed' : n % 2 === 0 ? 'out' : 'filtered'

  it('accounts for every record and keeps order, wherever calls are cut', async () => {
    const numbers = fc.array(fc.nat(60), { minLength: 1, maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(numbers, fc.array(fc.bigInt({ min: -3n, max: 70n }), { maxLength: 8 }), async (values, cuts) => {
        const {
          values: out,
          failures,
          counters,
        } = await chain.run(
          values.map((n) => JSON.stringify({ n })),
          { cuts, poison: [], attempts: new Map(), refused: new Map(), deadLettered: new Set<bigint>() },
        )
        expect(out.map((value) => JSON.parse(value!).n)).toEqual(values.filter((n) => becomes(n) === 'out'))
        expect(failures.map(({ delta }) => delta).toSorted((a, b) => a - b)).toEqual(
          [...values.keys()].filter((index) => ['failed', 'trapped'].includes(becomes(values[index]!))),
        )
        const [counts] = counters
        expect(counts!.in).toBe(values.length)
        expect(counts!.in).toBe(counts!.out + counts!.filtered + counts!.failed + counts!.skipped)
      }),
      { numRuns: 60 },
    )
  })

  it('leaves out of the call only the record that is known to hang', async () => {
    const values = Array.from({ length: 20 }, (_, index) => JSON.stringify({ n: index * 14 }))
    const poison = [{ offset: 6n, step: 0, message: 'did not return' }]
    const { values: out, failures } = await chain.run(values, {
      cuts: [6n, 7n],
      poison,
      attempts: new Map(),
      refused: new Map(),
      deadLettered: new Set<bigint>(),
    })
    expect(failures.find(({ code }) => code === 'module_timeout')).toMatchObject({ delta: 6, message: 'did not return', attempts: 1 })
    expect(out.map((value) => JSON.parse(value!).n)).not.toContain(6 * 14)
  })
})

describe('the search for a record that hangs', () => {
  it('finds that record after at most seven hung calls, whatever the length of the call', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200_000 }), fc.nat(), (length, seed) => {
        const book = createFailureBook()
        const bad = BigInt(seed % length)
        let [first, last] = [0n, BigInt(length - 1)]
        let kills = 0
        for (; kills < 12 && !book.of(0)?.poison.some(({ offset }) => offset === bad); kills++) {
          book.addHang(0, first, last, 0, 'hangs')
          const cuts = [...(book.of(0)?.cuts ?? [])].toSorted((a, b) => (a < b ? -1 : 1))
          first = cuts.findLast((cut) => cut <= bad) ?? 0n
          last = (cuts.find((cut) => cut > bad) ?? BigInt(length)) - 1n
        }
        expect(book.of(0)?.poison).toEqual([{ offset: bad, step: 0, message: 'hangs' }])
        expect(kills).toBeLessThanOrEqual(7)
        book.settle([
          {
            partition: 0,
            nextOffset: BigInt(length),
            records: 0,
            sink: [],
            rows: [],
            deadLetters: [],
            deadLetterOffsets: [],
            counts: new Float64Array(7),
          },
        ])
        expect(book.of(0)).toBeUndefined()
      }),
    )
  })
})

describe('the accounting', () => {
  it('survives a change of owner and of revision: totals go on, steps start over', () => {
    const round = fc.record({ out: fc.nat(100), filtered: fc.nat(100), failed: fc.nat(100) })
    fc.assert(
      fc.property(fc.array(round, { minLength: 1, maxLength: 8 }), fc.nat(7), (rounds, at) => {
        let accounting = createAccounting(1, 1)
        let metadata = ''
        accounting.restore(0, metadata)
        let total = 0
        for (const [index, { out, filtered, failed }] of rounds.entries()) {
          if (index === at) accounting = accounting.forRevision(2, 1)
          const counts = Float64Array.from([out + filtered + failed, out, filtered, 0, failed, 0, out])
          metadata = accounting.metadataWith(0, counts)
          // Another task goes on from what was committed.
          const successor = createAccounting(index >= at ? 2 : 1, 1)
          successor.restore(0, metadata)
          accounting.add(0, counts)
          expect(successor.snapshot()).toEqual(accounting.snapshot())
          accounting = successor
          total += out + filtered + failed
        }
        expect(parseCommitMetadata(metadata)?.t?.[0]).toBe(total)
        expect(accounting.revisionOf(0)).toBe(rounds.length > at ? 2 : 1)
      }),
    )
  })

  it('refuses counts that don’t add up', () => {
    const accounting = createAccounting(1, 1)
    accounting.restore(0, '')
    expect(() => accounting.metadataWith(0, Float64Array.from([3, 1, 1, 0, 0, 0, 1]))).toThrow(/does not balance/)
  })
})

describe('the failure threshold', () => {
  it('is passed only when more than its share of at least a thousand records fails within a minute', () => {
    let now = 0
    const threshold = createFailureThreshold(0.5, () => now)
    let offset = 0n
    const add = (records: number, failed: number, to = threshold) => to.check([[0, (offset += BigInt(records)), records, failed]])
    add(999, 999)
    now = 61_000
    add(600, 300)
    add(400, 200)
    expect(() => add(2, 2)).toThrow('more than the threshold')
    now = 200_000
    add(10, 10)
    add(
      5000,
      5000,
      createFailureThreshold(1, () => now),
    )
  })

  it('counts a repeated round once, with what the sink has refused of it by then', () => {
    const threshold = createFailureThreshold(0.5, () => 0)
    for (let again = 0; again < 5; again++) threshold.check([[0, 2000n, 2000, 900]])
    expect(() => threshold.check([[0, 2000n, 2000, 1001]])).toThrow('more than the threshold')
  })
})
