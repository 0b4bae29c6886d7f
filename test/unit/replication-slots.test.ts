/** What a `table` source says where its database has no replication slot left. */
import { expect, it } from 'vitest'
import { createSlot, type WithClient } from '../../shared/connectors/table/replication-slot.ts'

/** A server whose slots are all in use, of which this pipeline has left some. */
const withFullServer = (left: string[]): WithClient =>
  ((work: (client: object) => unknown) =>
    work({
      query: async (sql: string) => {
        if (sql.includes('pg_create_logical_replication_slot')) throw Object.assign(new Error('all in use'), { code: '53400' })
        return { rows: sql.includes('pg_replication_slots') ? left.map((slot_name) => ({ slot_name })) : [] }
      },
    })) as never

it.each([
  [['dps_p_1', 'dps_p_2'], /max_replication_slots.*this pipeline have left dps_p_1, dps_p_2: stop the pipeline, then drop them$/],
  [[], /\(max_replication_slots\)$/],
])('the slots that it has left itself are named: %j', async (left, message) => {
  await expect(createSlot(withFullServer(left), 'dps_p', 't')).rejects.toThrow(message)
})
