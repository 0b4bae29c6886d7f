/** What the console sends of a chain that it has read. */
import { expect, it } from 'vitest'
import { changed, keyOf, stepsOf, type Step } from '../../services/console/src/steps.ts'

const onError = (policy: 'dead_letter' | 'skip') => ({ policy, retries_max: 3, backoff_ms: 100 })
const step = { module_id: 'sm_1', name: 'dps/filter', version: '1.0.0', config: { field: 'n' } }

it('a policy that a step has from its pipeline is not made its own', () => {
  const processors = [
    { ...step, on_error: onError('skip'), changes_keys: false },
    { ...step, on_error: onError('dead_letter'), changes_keys: true, timeout_ms: 50 },
  ]
  expect(stepsOf({ processors, on_error: onError('skip') })).toEqual([
    { module_id: 'sm_1', version: '1.0.0', config: { field: 'n' } },
    { module_id: 'sm_1', version: '1.0.0', config: { field: 'n' }, on_error: onError('dead_letter'), changes_keys: true, timeout_ms: 50 },
  ])
})

it('a step keeps its key where it is moved, and changed', () => {
  const [one, two]: Step[] = [
    { module_id: 'sm_1', config: {} },
    { module_id: 'sm_1', config: {} },
  ]
  const steps = [one!, two!]
  const keys = steps.map(keyOf)
  expect(new Set(keys).size).toBe(2)
  const moved = changed([two!, one!], 1, { ...one!, config: { field: 'n' } })
  expect(moved.map(keyOf)).toEqual(keys.toReversed())
  expect(moved.map(({ config }) => config)).toEqual([{}, { field: 'n' }])
})
