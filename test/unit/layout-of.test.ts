/** A topic that is gone or has no leader is a part that is away, 503: not a fault of the service, and not a wait for the deadline. */
import { describe, expect, it } from 'vitest'
import type { Deps } from '../../services/control-plane/deps.ts'
import { redrive } from '../../services/control-plane/jobs/redrive.ts'
import { replay } from '../../services/control-plane/jobs/replay.ts'
import { layoutOf } from '../../services/control-plane/layout-of.ts'
import type { PipelineRow } from '../../services/control-plane/store/pipelines.ts'

/** A cluster whose only topic, `there`, has these leaders. */
const clusterOf = (leaders: number[]) => ({
  describeTopic: (topic: string) => Promise.resolve(topic === 'there' ? { topic, topicId: 'id', leaders } : undefined),
})
const AWAY = { code: 'unavailable', status: 503 }

describe('the layout of a topic', () => {
  it('is 503 while it does not exist, or a partition that is read has no leader', async () => {
    await expect(layoutOf(clusterOf([1]), 'gone', 'the topic', 'none')).rejects.toMatchObject(AWAY)
    await expect(layoutOf(clusterOf([1, -1]), 'there', 'the topic')).rejects.toMatchObject(AWAY)
    await expect(layoutOf(clusterOf([1, -1]), 'there', 'the topic', 1)).rejects.toMatchObject(AWAY)
  })

  it('is there for the partitions that have one', async () => {
    await expect(layoutOf(clusterOf([1, 2]), 'there', 'the topic')).resolves.toMatchObject({ leaders: [1, 2] })
    await expect(layoutOf(clusterOf([1, -1]), 'there', 'the topic', 0)).resolves.toMatchObject({ leaders: [1, -1] })
    await expect(layoutOf(clusterOf([1, -1]), 'there', 'the topic', 'none')).resolves.toMatchObject({ leaders: [1, -1] })
    // Which partitions there are is for the caller to say: with 400.
    await expect(layoutOf(clusterOf([1]), 'there', 'the topic', 7)).resolves.toMatchObject({ leaders: [1] })
  })
})

describe('a job over a topic that is gone', () => {
  const pipeline = {
    status: 'running',
    definition: { source: { topic: 'gone' }, dead_letter_topic: 'gone' },
  } as unknown as PipelineRow
  const deps = { cluster: clusterOf([1]), deadLetters: { catchUp: () => Promise.resolve() } } as unknown as Deps

  it('answers 503 to a replay of the source', async () => {
    await expect(replay(deps, pipeline, { from: 'earliest', to: 'latest' }, async () => {})).rejects.toMatchObject(AWAY)
  })
  it('answers 503 to a redrive of dead letters', async () => {
    await expect(redrive(deps, pipeline, { dry_run: false }, async () => {})).rejects.toMatchObject(AWAY)
  })
})
