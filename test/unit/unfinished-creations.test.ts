/** What is left of a pipeline or stream whose creation is given up: nothing, whenever its making ends. */
import { describe, expect, it } from 'vitest'
import { setUpPipeline } from '../../services/control-plane/reconciler/pipelines.ts'
import { finishOrUndo } from '../../services/control-plane/concurrency/with-deadline.ts'
import type { KafkaAdmin } from '../../shared/kafka/admin/admin.ts'
import { recordedDatabase } from '../harness/recorded-database.ts'

type Deps = Parameters<typeof setUpPipeline>[0]
type Row = Parameters<typeof setUpPipeline>[1]

describe('a pipeline that was removed while it was being set up', () => {
  it.each([undefined, 'deleting'])('leaves no topics and no groups behind, and was not created (its row: %s)', async (status) => {
    const topics = new Set<string>()
    const groups = new Set<string>()
    const admin = {
      createTopics: async (asked: { topics: { topic: string }[] }) => asked.topics.every(({ topic }) => topics.add(topic)),
      fetchTopicMetadata: async () => ({ topics: [{ partitions: [{ leader: 1 }] }] }),
      deleteTopics: async (asked: { topics: string[] }) => asked.topics.forEach((topic) => topics.delete(topic)),
      deleteGroups: async (ids: string[]) => ids.forEach((id) => groups.delete(id)),
    } as unknown as KafkaAdmin
    const cluster = {
      describeTopic: async () => ({ leaders: [1] }),
      ensureStartOffsets: async (group: string) => void groups.add(group),
    }
    const { db } = recordedDatabase(() => [])
    const transaction = async (work: (trx: unknown) => Promise<unknown>) => {
      const table = { where: () => table, forUpdate: () => table, first: async () => status && { id: 'pl_1', status, definition } }
      return work(() => table)
    }
    const definition = {
      pipeline_id: 'pl_1',
      account_id: 'acc_1',
      name: 'orders',
      revision: 1,
      attempt: 1,
      desired: 'running',
      tasks: 1,
      source: { kind: 'topic', topic: 'from', partitions: 1 },
      sink: { kind: 'topic', topic: 'to', schema_id: 0, bytes_max: 1000, compression: 'none' },
      dead_letter_topic: 'dead',
      dead_letter_bytes_max: 1000,
      group_id: 'group',
      steps: [],
      failure_threshold: 0.5,
      on_lost_position: 'fail',
      reset_revision: 0,
    }
    const deps = {
      db: Object.assign(() => {}, db, { transaction }),
      withAdmin: (work: (admin: KafkaAdmin) => Promise<unknown>) => work(admin),
      cluster,
      names: {},
      replicationFactor: 1,
      notifyPublisher: () => {},
    } as unknown as Deps
    const row = { id: 'pl_1', account_id: 'acc_1', name: 'orders', request: {}, definition } as unknown as Row
    await expect(setUpPipeline(deps, row)).rejects.toThrow('removed while it was being created')
    expect([...topics, ...groups]).toEqual([])
  })
})

describe('a creation that fails', () => {
  it('is undone after its making has ended', async () => {
    const done: string[] = []
    const making = Promise.reject(new Error('no topic'))
    const undoing = {
      beginUndo: async () => done.push('begin') > 0,
      undo: async () => void done.push('undo'),
      onLeft: () => void done.push('left'),
    }
    await expect(finishOrUndo(making, 'making it', undoing)).rejects.toThrow('no topic')
    expect(done).toEqual(['begin', 'undo'])
  })

  it('is not undone where something else has ended it', async () => {
    const undo = () => Promise.reject(new Error('undone'))
    const undoing = { beginUndo: async () => false, undo, onLeft: () => {} }
    await expect(finishOrUndo(Promise.reject(new Error('no topic')), 'making it', undoing)).rejects.toThrow('no topic')
    await finishOrUndo(Promise.resolve(), 'making it', undoing)
  })
})
