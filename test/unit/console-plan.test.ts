/** What the console says of a plan: rows that a person reads. */
import { expect, it } from 'vitest'
import { planRows } from '../../services/console/src/plan-rows.ts'

const filter = (value: number) => ({
  module_id: 'sm_1',
  name: 'dps/filter',
  version: '1.0.0',
  config: { field: 'n', operator: 'gt', value },
})
const cel = { module_id: 'sm_2', name: 'dps/cel', version: '1.0.0', config: { filter: 'true' } }

it('a chain that gets and loses steps is told step by step', () => {
  const explode = { ...cel, name: 'dps/explode', config: { field: 'items' } }
  expect(planRows([{ path: '/processors', before: [filter(1), cel], after: [cel, explode] }])).toEqual([
    { path: 'step 1 removed', before: 'dps/filter', after: undefined },
    { path: 'step 2 added', before: undefined, after: 'dps/explode {"field":"items"}' },
  ])
})

it('a step that stays is told by the members that differ', () => {
  expect(planRows([{ path: '/processors', before: [filter(1)], after: [cel, { ...filter(2), version: '1.0.1' }] }])).toEqual([
    { path: 'step 1 added', before: undefined, after: 'dps/cel {"filter":"true"}' },
    { path: 'step 2, dps/filter: version', before: '"1.0.0"', after: '"1.0.1"' },
    { path: 'step 2, dps/filter: config.value', before: '1', after: '2' },
  ])
  expect(planRows([{ path: '/processors/0/config', before: filter(1).config, after: { ...filter(2).config, more: true } }])).toEqual([
    { path: 'step 1: config.value', before: '1', after: '2' },
    { path: 'step 1: config.more', before: undefined, after: 'true' },
  ])
})

it('what is no step is told as it is', () => {
  expect(planRows([{ path: '/tasks', before: 1, after: 2 }])).toEqual([{ path: 'tasks', before: '1', after: '2' }])
  expect(planRows([{ path: '/sink/config', before: { table: 'a' }, after: { table: 'b' } }])).toEqual([
    { path: 'sink.config.table', before: '"a"', after: '"b"' },
  ])
})

it('a manifest’s steps are told as a pipeline’s are', () => {
  const [one, two] = [1, 2].map((value) => ({ module: 'dps/filter', with: { field: 'n', value } }))
  const added = { module: 'dps/cel', with: { filter: 'true' } }
  expect(planRows([{ path: '/steps', before: [one], after: [added, two] }])).toEqual([
    { path: 'step 1 added', before: undefined, after: 'dps/cel {"filter":"true"}' },
    { path: 'step 2, dps/filter: with.value', before: '1', after: '2' },
  ])
  expect(planRows([{ path: '/steps/0/with', before: one!.with, after: two!.with }])).toEqual([
    { path: 'step 1: with.value', before: '1', after: '2' },
  ])
})
