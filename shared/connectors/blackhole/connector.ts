/** The connector `blackhole`: takes everything and keeps nothing, for trying chains and measuring them. */
import { z } from 'zod'
import { direction, type Connector } from '../connector.ts'

export const blackholeConnector: Connector = {
  id: 'conn_blackhole',
  name: 'blackhole',
  description: 'Takes every record and keeps none: for trying and measuring chains.',
  version: '1.0.0',
  created_at: '2026-11-21T00:00:00.000Z',
  sink: direction({
    config: z.strictObject({}),
    open: async () => async () => ({ rows: { kind: 'json_lines' }, write: async () => ({ kind: 'delivered' }), close: async () => {} }),
  }),
}
