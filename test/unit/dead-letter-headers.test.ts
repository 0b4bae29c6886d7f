/** What a dead letter adds to its record stays within what its topic keeps for it, whatever says why the record failed. */
import { describe, expect, it } from 'vitest'
import { deadLetterRecord } from '../../services/processor/lane/dead-letter.ts'
import type { Origin } from '../../services/processor/lane/job-input.ts'
import { createBlockBuilder } from '../../shared/connectors/record-block.ts'
import { refusalHeaders, splitDeadLetterHeaders } from '../../shared/model/dead-letter-headers.ts'
import { LIMITS } from '../../shared/model/limits.ts'
import { createFailurePolicies } from '../../shared/smartmodule/host/failure-policies.ts'
import type { ChainOutput, ChainSpec } from '../../shared/smartmodule/host/spec.ts'
import { BARE_CHAIN } from '../harness/chains.ts'

const LONG = '€'.repeat(1 << 20)
const ORIGIN = { topic: 't', topicId: 'id1', partition: 0, offset: 0n, attempts: 0, redrives: 0, timestamp: 0n }
const FAILURE = { delta: 0, step: 0, code: 'postgres_22P02', message: LONG, attempts: 1 }

describe('a dead letter', () => {
  it('says which topic its record is in, and one that does not is read as it is', () => {
    const record = { offsetDelta: 0, timestampDelta: 0n, key: null, value: null, headers: [['own', null] satisfies [string, null]] }
    const split = (origin: Origin) => splitDeadLetterHeaders(deadLetterRecord(record, FAILURE, BARE_CHAIN, origin, 0).record.headers)
    const job = { id: 'job_1', offset: 7n }
    for (const topicId of ['id1', undefined])
      for (const origin of [ORIGIN, { ...ORIGIN, job }]) {
        const { own, added } = split({ ...origin, topicId })
        expect(own).toEqual(record.headers)
        expect(added).toMatchObject({ '__connect.errors.topic': 't', ...('job' in origin ? { 'dps.job': 'job_1' } : {}) })
        expect(added['dps.topic_id']).toBe(topicId)
      }
  })

  it.each([
    ['the sink', []],
    ['the record’s own source', refusalHeaders('x'.repeat(1 << 20), LONG)],
  ])('has bounded headers where %s says why', (_who, own) => {
    const record = { offsetDelta: 0, timestampDelta: 0n, key: null, value: null, headers: own }
    const { headers } = deadLetterRecord(record, FAILURE, BARE_CHAIN, ORIGIN, 0).record
    const { added } = splitDeadLetterHeaders(headers)
    expect(added['__connect.errors.exception.message']).toBe(`${'€'.repeat(1024)}…`)
    const bytes = headers.slice(own.length).reduce((sum, [name, value]) => sum + name.length + value!.length, 0)
    expect(bytes).toBeLessThan(LIMITS.dead_letter_headers_bytes)
  })

  it('is made of a failure whose message was cut when the record was judged, as is the reason of the policy fail', () => {
    const policies = createFailurePolicies({ steps: [] } as unknown as ChainSpec)
    policies.open(0, 0n, undefined)
    policies.begin()
    policies.judge(0, 0, 'postgres_22P02', LONG)
    const output = { failures: [], retries: [] } as unknown as ChainOutput
    policies.hand(output)
    expect(output.failures[0]!.message).toBe(`${'€'.repeat(1024)}…`)
    const strict = createFailurePolicies({ steps: [], on_error: { policy: 'fail' } } as unknown as ChainSpec)
    let reason = ''
    try {
      strict.judge(0, 0, 'postgres_22P02', LONG)
    } catch (error) {
      reason = String(error)
    }
    expect(reason).toMatch(/^Error: the sink refused the record .*its policy is fail$/)
    expect(reason.length).toBeLessThan(2000)
  })

  it.each(['fail', 'retry', 'skip'])('is not asked for again of a record that has one: no policy is applied, not even %s', (policy) => {
    const policies = createFailurePolicies({ steps: [], on_error: { policy, retries_max: 100 } } as unknown as ChainSpec)
    policies.open(0, 40n, { cuts: [], poison: [], attempts: new Map(), refused: new Map(), deadLettered: new Set([50n]) })
    policies.begin()
    expect(policies.judge(10, 0, 'dead_lettered', 'the record is already a dead letter')).toBe('failed')
    const output = { failures: [], retries: [] } as unknown as ChainOutput
    policies.hand(output)
    expect([output.failures.map(({ delta }) => delta), output.retries]).toEqual([[10], []])
  })

  it('has a short reason where the source could not read the record', () => {
    const builder = createBlockBuilder(1024)
    builder.refuse('malformed_row', LONG, Buffer.from('x'))
    expect(builder.take().bytes.length).toBeLessThan(4096)
  })
})
