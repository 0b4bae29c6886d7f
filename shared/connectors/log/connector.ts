/** The connector `log`: shows in the pipeline's log and the processor's what would have been written, for trying out chains. */
import { z } from 'zod'
import { direction, type Connector } from '../connector.ts'

const LogConfig = z.strictObject({
  sample: z
    .number()
    .int()
    .min(0)
    .max(100)
    .default(3)
    .describe('records shown of each round; the rest are only counted')
    .meta({ title: 'Sample' }),
})
const SHOWN_CHARACTERS = 500

/** The connector’s entry in the catalogue. */
export const logConnector: Connector = {
  id: 'conn_log',
  name: 'log',
  description: 'Shows some records of every round in the log, and counts the rest: for trying out chains.',
  version: '1.0.0',
  created_at: '2026-11-21T00:00:00.000Z',
  sink: direction({
    config: LogConfig,
    open:
      async () =>
      async ({ sample }, context) => ({
        rows: { kind: 'json_lines' },
        async write({ partition, from, to }, pieces) {
          const count = pieces.reduce((sum, rows) => sum + rows.count, 0)
          context.log('info', `log: ${count} records of partition ${partition}, offsets ${from} to ${to}`)
          const first = pieces[0]
          for (let row = 0; first && row < Math.min(sample, first.count); row++) {
            const line = Buffer.from(first.bytes).toString('utf8', row === 0 ? 0 : first.ends[row - 1], first.ends[row])
            context.log('info', `log: ${line.trimEnd().slice(0, SHOWN_CHARACTERS)}`)
          }
          return { kind: 'delivered' }
        },
        close: async () => {},
      }),
  }),
}
