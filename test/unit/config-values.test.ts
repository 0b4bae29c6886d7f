/** How many values the configs of a request may have: what is stored of them is parsed whenever its pipeline is read. */
import { describe, expect, it } from 'vitest'
import { PipelinePart } from '../../shared/api/manifests.ts'
import { PipelineRequest } from '../../shared/api/pipeline-requests.ts'
import { updatePipelineContract } from '../../shared/api/pipelines.ts'
import { LIMITS } from '../../shared/model/limits.ts'

const members = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, index]))
/** A full table of `dps/lookup`. */
const lookup = { module_id: 'dps/lookup', config: { field: 'a', into: 'b', table: members(10_000) } }
const endpoint = (config: object = {}) => ({ connector_id: 'log', config })
const request = (more: object) => ({ name: 'p', source: endpoint(), sink: endpoint(), ...more })
const faults = ({ error }: { error?: { issues: { path: PropertyKey[]; message: string }[] } | undefined }) =>
  (error?.issues ?? []).map(({ path, message }) => [path.join('/'), message])
const most = LIMITS.config_values_max

describe('configs', () => {
  it('may have two full tables of dps/lookup', () => {
    expect(faults(PipelineRequest.safeParse(request({ processors: [lookup, lookup] })))).toEqual([])
  })

  it('have a limit each, counted at any depth', () => {
    expect(faults(PipelineRequest.safeParse(request({ sink: endpoint(members(most)) })))).toEqual([])
    for (const config of [members(most + 1), { a: { b: [members(most - 1)] } }])
      expect(faults(PipelineRequest.safeParse(request({ sink: endpoint(config) })))).toEqual([
        ['sink/config', `must have at most ${most} values`],
      ])
  })

  it('of all steps together have the same one', () => {
    const told = `must have configs of at most ${most} values together`
    const processors = [lookup, lookup, lookup]
    expect(faults(PipelineRequest.safeParse(request({ processors })))).toEqual([['processors', told]])
    expect(faults(updatePipelineContract.request.body.safeParse({ processors }))).toEqual([['processors', told]])
    const steps = processors.map(({ config }) => ({ module: 'dps/lookup', with: config }))
    const end = { stream: 's' }
    expect(faults(PipelinePart.safeParse({ source: end, sink: end, steps }))).toEqual([['steps', told]])
  })
})
