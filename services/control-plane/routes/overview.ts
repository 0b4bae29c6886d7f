/** The overview: every pipeline of the account, those that need attention first. */
import { getOverviewContract } from '../../../shared/api/overview.ts'
import { glancesOf } from '../overview-feed/glances.ts'
import { operation } from './operation.ts'

export const getOverviewOperation = operation(getOverviewContract, async ({ db }, { accountId }) => {
  const pipelines = await glancesOf(db, accountId)
  const sumOf = (member: 'records_per_second' | 'lag' | 'dead_letters') => pipelines.reduce((sum, each) => sum + each[member], 0)
  return {
    status: 200,
    body: {
      pipelines,
      totals: {
        pipelines: pipelines.length,
        attention: pipelines.filter(({ attention }) => attention !== null).length,
        records_per_second: sumOf('records_per_second'),
        lag: sumOf('lag'),
        dead_letters: sumOf('dead_letters'),
      },
    },
  }
})
