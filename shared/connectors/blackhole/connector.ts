/** The connector `blackhole`: accepts every record and discards it, for trying out and measuring chains. */
import { z } from 'zod'
import { direction, type Connector } from '../connector.ts'

/** The connector’s entry in the catalogue. */
export const blackholeConnector: Connector = {
  id: 'conn_blackhole',
  name: 'blackhole',
  description: 'Accepts every record and discards it: for trying out and measuring chains.',
  version: '1.0.0',
  created_at: '2026-11-21T00:00:00.000Z',
  sink: direction({
    config: z.strictObject({}),
    open: async () => async () => ({ rows: { kind: 'json_lines' }, write: async () => ({ kind: 'delivered' }), close: async () => {} }),
  }),
}
