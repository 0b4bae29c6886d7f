/** The connector `stream`: a stream of the same account as source or sink. Tasks read and write its topic directly, without a driver. */
import { z } from 'zod'
import { COMPRESSIONS } from '../../model/definition.ts'
import { Reference } from '../../api/common.ts'
import type { Connector } from '../connector.ts'

const SourceConfig = z.strictObject({ stream_id: Reference.describe('id of a stream of this account') })
/** Config of a stream as a source or sink; `compression` is for a sink. */
export const StreamConfig = SourceConfig.extend({
  compression: z.enum(COMPRESSIONS).optional().describe('of the records written'),
})

/** The connector’s entry in the catalogue. */
export const streamConnector: Connector = {
  id: 'conn_stream',
  name: 'stream',
  description: 'Reads from, or writes to, a stream of this service, exactly once.',
  version: '1.0.0',
  created_at: '2026-11-21T00:00:00.000Z',
  source: { config: SourceConfig },
  sink: { config: StreamConfig },
}
