/** A stream's records as they are written, for a client that listens. */
import { tailStreamContract } from '../../../../shared/api/tail.ts'
import { findStream } from '../../store/streams.ts'
import { filterStep, placeOfStream } from '../../tail/places.ts'
import { tail } from '../../tail/tail.ts'
import { operation } from '../operation.ts'
import { activeStream } from './active-stream.ts'

export const tailStreamOperation = operation(tailStreamContract, async (deps, caller, { params, query }) => {
  const { id } = await activeStream(deps.db, caller.accountId, params.id)
  const filter = query.filter === undefined ? undefined : await filterStep(deps, caller, query.filter)
  const place = async () => {
    const stream = await findStream(deps.db, caller.accountId, id)
    return stream?.status === 'active' ? placeOfStream(deps.db, stream) : undefined
  }
  return { status: 200, events: tail(deps, { accountId: caller.accountId, filter, last: query.last, place }) }
})
