/**
 * Phase 1 of a round: fetches raw batches of the assigned partitions at read-committed, one fetch ahead. Each leader has its own
 * connection and loop; a round is what these have fetched. D2: offsets only grow; gaps are normal.
 * HOT: work per batch.
 */
import { errorOf } from '../../../../shared/errors/reason-of.ts'
import type { Connections, TopicLayout } from '../../../../shared/kafka/cluster.ts'
import { KafkaError } from '../../../../shared/kafka/kafka-error.ts'
import { isRetriable, KAFKA_ERRORS, kafkaErrorName } from '../../../../shared/kafka/wire/error-codes.ts'
import type { FetchBatches } from '../../../../shared/kafka/wire/fetch.ts'
import { Interrupted } from '../../interruption.ts'
import type { ByteBudget } from '../byte-budget.ts'
import { createFetchProgress, type FetchedBatches, type Skipping } from './fetch-progress.ts'

/** What one round works on. `release` gives its bytes back to the budget; called once, after the commit or when the round is dropped. */
export type FetchedRound = { batches: FetchedBatches[]; bytes: number; release(): void }

export type Fetcher = {
  /**
   * Resolves with everything that has arrived, as soon as there is something; with undefined when interrupted, or when every partition has
   * reached its end. Rejects when fetching must start over.
   */
  take(): Promise<FetchedRound | undefined>
  /** Makes a waiting `take` return. */
  interrupt(): void
  /** Every partition has reached the end set for it, and all of its batches were taken. */
  isDone(): boolean
  /** Last stable offset of each partition, as of its latest fetch. */
  ends: Map<number, bigint>
  close(): void
}

export type FetcherOptions = {
  fetch: FetchBatches
  connections: Connections
  layout: TopicLayout
  positions: Map<number, bigint>
  /** Partitions that are not read for now and are treated as having no leader. */
  aside?: readonly number[]
  budget: ByteBudget
  roundBytesMax: number
  /** Ends of a job or of planned ranges: each partition is read up to the batch that contains its end, and no further. */
  until?: ReadonlyMap<number, bigint>
  /** Continues after records that expired before they were read; if left out, a lost position ends the fetching. */
  skipping?: Skipping
}

/** A fetch of this size does not wait for budget, so that each task can always fetch one batch. */
const GUARANTEED_BYTES = 1 << 20
/** A broker answers the requests of a connection in turn: the next fetcher of an idle partition waits so long for its first answer. */
const WAIT_MS = 500
/** How long the other partitions go on while one has no leader. */
const ASIDE_MS = 5000

type Ready = { batches: FetchedBatches[]; bytes: number }

export function openFetcher(options: FetcherOptions): Fetcher {
  const { fetch, connections, layout, positions, budget, roundBytesMax } = options
  const ready: Ready[] = []
  let closed = false
  let isInterrupted = false
  let loops = 0
  let failure: Error | undefined
  let wake: (() => void) | undefined
  const reading = createFetchProgress({ ...options, setAside })
  const { isBeforeEnd, isBehind } = reading
  const aside = new Set<number>()
  let asideTimer: NodeJS.Timeout | undefined
  /** Called when `take` hands the batches out, or they are dropped: only then the next fetch begins. */
  const onTaken = new Map<Ready, () => void>()

  function fail(error: unknown): void {
    failure ??= errorOf(error)
    wake?.()
  }

  /** A partition without a leader does not stop the others: they go on for a while before all leaders are looked up again. */
  function setAside(partition: number, errorCode: number): void {
    aside.add(partition)
    const isAlone = [...positions.keys()].every((each) => aside.has(each) || !isBeforeEnd(each))
    const why = new Interrupted({ kind: 'partitions_aside', isRetriable: isRetriable(errorCode) }, kafkaErrorName(errorCode))
    if (isAlone) return fail(why)
    asideTimer ??= setTimeout(() => fail(why), ASIDE_MS)
  }

  async function fetchFrom(nodeId: number, owned: number[]): Promise<void> {
    let wanted = GUARANTEED_BYTES
    let first = 0
    while (!closed) {
      const partitions = owned.filter((partition) => isBeforeEnd(partition) && !aside.has(partition))
      if (partitions.length === 0) return
      const expected = partitions.some(isBehind) ? GUARANTEED_BYTES : 0
      budget.use(expected)
      const granted = budget.take(wanted - GUARANTEED_BYTES)
      const bytesMax = GUARANTEED_BYTES + granted
      const share = Math.max(GUARANTEED_BYTES, Math.floor(bytesMax / partitions.length))
      // The broker fills an answer in the requested order: rotating it keeps partitions from starving.
      const order = partitions.map((_, index) => partitions[(first + index) % partitions.length]!)
      first++
      let batches: FetchedBatches[]
      try {
        const answer = await fetch(await connections.leader(nodeId), {
          topicId: layout.topicId,
          partitions: order.map((partition) => ({ partition, offset: positions.get(partition)!, bytesMax: share })),
          waitMs: WAIT_MS,
          bytesMin: 1,
          bytesMax,
        })
        if (answer.errorCode !== 0) throw new KafkaError(answer.errorCode)
        if (closed) return
        const lost = answer.partitions.filter(({ errorCode }) => errorCode === KAFKA_ERRORS.offsetOutOfRange)
        const starts = lost.length > 0 ? await options.skipping?.startsOf(lost.map(({ partition }) => partition)) : undefined
        if (closed) return
        batches = reading.collect(answer.partitions, starts)
      } catch (error) {
        return fail(error)
      } finally {
        // From here on the fetched bytes count, not the expected ones.
        budget.give(expected + granted)
      }
      const bytes = batches.reduce((sum, batch) => sum + batch.length, 0)
      wanted = bytes * 2 >= bytesMax ? roundBytesMax : bytes * 8 < wanted ? GUARANTEED_BYTES : wanted
      if (batches.length === 0) continue
      budget.use(bytes)
      const result: Ready = { batches, bytes }
      const taken = new Promise<void>((resolve) => onTaken.set(result, resolve))
      ready.push(result)
      wake?.()
      await taken
    }
  }

  for (const partition of options.aside ?? []) if (isBeforeEnd(partition)) setAside(partition, KAFKA_ERRORS.leaderNotAvailable)
  for (const [nodeId, owned] of Map.groupBy(positions.keys(), (partition) => layout.leaders[partition] ?? -1)) {
    if (nodeId < 0) for (const partition of owned.filter(isBeforeEnd)) setAside(partition, KAFKA_ERRORS.leaderNotAvailable)
    else {
      loops++
      void fetchFrom(nodeId, owned).finally(() => {
        loops--
        wake?.()
      })
    }
  }

  return {
    ends: reading.ends,
    async take() {
      while (ready.length === 0 && failure === undefined && !isInterrupted && (loops > 0 || aside.size > 0 || !options.until))
        await new Promise<void>((resolve) => (wake = resolve))
      if (failure) throw failure
      isInterrupted = false
      if (ready.length === 0) return undefined
      const parts = ready.splice(0)
      for (const part of parts) {
        onTaken.get(part)?.()
        onTaken.delete(part)
      }
      const bytes = parts.reduce((sum, part) => sum + part.bytes, 0)
      return { batches: parts.flatMap((part) => part.batches), bytes, release: () => budget.give(bytes) }
    },
    interrupt() {
      isInterrupted = true
      wake?.()
    },
    isDone: () => options.until !== undefined && loops === 0 && aside.size === 0 && ready.length === 0 && failure === undefined,
    close() {
      closed = true
      clearTimeout(asideTimer)
      for (const part of ready.splice(0)) {
        budget.give(part.bytes)
        onTaken.get(part)?.()
      }
      fail(new Interrupted('round_lost', 'the fetcher is closed'))
    },
  }
}
