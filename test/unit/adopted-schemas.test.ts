/** Which versions of an adopted topic's subject its stream learns. */
import { expect, it, vi } from 'vitest'
import { findNewSchemas } from '../../services/control-plane/definitions/adopted-schemas.ts'
import { SchemaRefused } from '../../shared/codecs/read-schemas.ts'

const text = (name: string) => ({ text: `{"type":"record","name":"R","fields":[{"name":"${name}","type":"int"}]}`, references: [] })
const broken = { text: '{"type":"record","name":"R","fields":[{"name":"a","type":"nothing"}]}', references: [] }

it('a version that can’t be used is left out and logged, and the others are learnt', async () => {
  const warn = vi.fn()
  const registry = {
    idsOf: async () => [1, 2, 3, 4],
    async find(id: number) {
      if (id === 2) throw new SchemaRefused('it has more than 262144 bytes')
      return { format: 'avro', text: id === 3 ? broken : text(`f${id}`), subjects: [] }
    },
  }
  const db = () => ({ where: () => ({ select: async () => [] }) })
  const deps = { db, registry, log: { warn } } as never
  const found = await findNewSchemas(deps, { id: 's', format: 'avro', topic: 't', schema_text: null })
  expect([...found.keys()]).toEqual([4, 1])
  expect(warn.mock.calls.map(([fields]) => fields as object)).toEqual([
    { id: 's', schema_id: 3, reason: expect.stringContaining('nothing') as string },
    { id: 's', schema_id: 2, reason: 'it has more than 262144 bytes' },
  ])
})

it('a registry that does not answer ends the search', async () => {
  const registry = { idsOf: async () => [1], find: () => Promise.reject(new Error('away')) }
  const deps = { db: () => ({ where: () => ({ select: async () => [] }) }), registry, log: {} } as never
  await expect(findNewSchemas(deps, { id: 's', format: 'avro', topic: 't', schema_text: null })).rejects.toThrow('away')
})

it('a version that lacks the stream’s message is learnt, because its values say which message they are', async () => {
  const texts = ['message Order { int64 id = 1; }', 'message Order { int64 id = 1; } message Refund { int64 of = 1; }']
  const registry = {
    idsOf: async () => [1, 2],
    find: async (id: number) => ({
      format: 'protobuf',
      text: { text: `syntax = "proto3"; ${texts[id - 1]}`, references: [] },
      subjects: [],
    }),
  }
  const deps = { db: () => ({ where: () => ({ select: async () => [] }) }), registry, log: {} } as never
  const own = { text: '', references: [], message: 'Refund' }
  const found = await findNewSchemas(deps, { id: 's', format: 'protobuf', topic: 't', schema_text: own })
  expect([...found].map(([id, { schema, schema_text }]) => [id, schema, schema_text?.message])).toEqual([
    [2, { of: 'integer?' }, 'Refund'],
    [1, { id: 'integer?' }, undefined],
  ])
})
