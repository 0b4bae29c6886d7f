/** The buttons of a pipeline in the console, beside what the service does. */
import { expect, it } from 'vitest'
import { OFFERED_ACTIONS } from '../../services/console/src/offered-actions.ts'
import { PIPELINE_ACTIONS, PIPELINE_STATUSES, TRANSITIONS } from '../../shared/model/pipeline-status.ts'

it('only actions that change a pipeline in its status are offered', () => {
  for (const [named, actions] of Object.entries(OFFERED_ACTIONS)) {
    const status = PIPELINE_STATUSES.find((each) => each === named)
    expect(status, named).toBeDefined()
    for (const each of actions) {
      const action = PIPELINE_ACTIONS.find((known) => known === each)
      expect(action, each).toBeDefined()
      expect(TRANSITIONS[status!][action!], `${action} of a pipeline that is ${status}`).not.toMatch(/^(same|refused)$/)
    }
  }
})

it('a pipeline that came to rest can be made to run', () => {
  for (const status of ['created', 'stopped', 'failed', 'paused'])
    expect(
      OFFERED_ACTIONS[status]!.some((action) => /^(start|resume)$/.test(action)),
      status,
    ).toBe(true)
})
