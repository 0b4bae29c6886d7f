/** Which pipelines of a manifest lead back to their source, against a walk from each of them. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { warningsIn } from '../../services/control-plane/manifests/warnings.ts'
import { limitMs } from '../harness/machine-speed.ts'

type Flow = readonly [source: string, sink: string]

const manifestOf = (flows: readonly Flow[]) => ({
  pipelines: Object.fromEntries(
    flows.map(([source, sink], index) => [`p${index}`, { source: { stream: source }, steps: [], sink: { stream: sink } }]),
  ),
})

function comesBack(flows: readonly Flow[], [source, sink]: Flow): boolean {
  const reached = new Set([sink])
  for (const stream of reached) for (const [from, to] of flows) if (from === stream) reached.add(to)
  return reached.has(source)
}

const warned = (flows: readonly Flow[]) => warningsIn(manifestOf(flows)).map(({ path }) => path.split('/')[3])

describe('pipelines that lead back to their source', () => {
  it('are those from whose sink a walk comes to it', () => {
    const stream = fc.constantFrom(...'abcdef')
    fc.assert(
      fc.property(fc.array(fc.tuple(stream, stream), { maxLength: 12 }), (flows) => {
        const expected = flows.flatMap((flow, index) => (comesBack(flows, flow) ? [`p${index}`] : []))
        expect(warned(flows)).toEqual(expected)
      }),
    )
  })

  it('are found in no time among ten thousand', () => {
    const chain = Array.from({ length: 10_000 }, (_, index): Flow => [`s${index}`, `s${index + 1}`])
    const from = performance.now()
    expect(warned(chain)).toEqual([])
    expect(warned([...chain, ['x', 'y'], ['y', 'x']])).toEqual(['p10000', 'p10001'])
    const [around] = warningsIn(manifestOf([...chain, ['s10000', 's0']]))
    expect(around!.message).toContain('(s0 → s1 → s2 → s3 → s4 → s5 → … → s0)')
    expect(performance.now() - from).toBeLessThan(limitMs(4000))
  })
})
