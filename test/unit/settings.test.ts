/** The services' settings: bounds that can be kept, and faults that are named. */
import { describe, expect, it } from 'vitest'
import { loadProcessorConfig, ownHostsOf, runnerMemoryBytesOf, settingsSchemas } from '../../shared/config/config.ts'

type Property = { default?: unknown; minimum?: number; maximum?: number }

describe('settings', () => {
  it('have a default within their bounds', () => {
    const wrong = Object.values(settingsSchemas()).flatMap(({ properties }) =>
      Object.entries(properties as Record<string, Property>)
        .filter(([, { default: fallback, minimum, maximum }]) => {
          if (minimum === undefined || maximum === undefined) return false
          return minimum > maximum || Number(fallback ?? minimum) < minimum || Number(fallback ?? minimum) > maximum
        })
        .map(([name]) => name),
    )
    expect(wrong).toEqual([])
  })

  it('take a budget of gigabytes', () => {
    const { FETCH_BUDGET_BYTES } = loadProcessorConfig({ KAFKA_BROKERS: 'a:1', FETCH_BUDGET_BYTES: String(8 * 2 ** 30) })
    expect(FETCH_BUDGET_BYTES).toBe(8 * 2 ** 30)
  })

  it('give a runner the memory that its lanes and its budget need, and refuse less', () => {
    const memory = (env: Record<string, string>) =>
      runnerMemoryBytesOf(loadProcessorConfig({ KAFKA_BROKERS: 'a:1', LANES: '1', ...env })) / 2 ** 20
    expect(memory({})).toBe(2048)
    expect(memory({ RUNNER_MEMORY_MIB: '1024' })).toBe(1024)
    expect(memory({ LANES: '31' })).toBeGreaterThan(31 * 256 + 256)
    expect(() => memory({ LANES: '31', RUNNER_MEMORY_MIB: '2048' })).toThrow(
      /RUNNER_MEMORY_MIB: LANES and FETCH_BUDGET_BYTES need at least \d+/,
    )
  })

  it('may have a space after a comma, and a list that must be given may not be empty', () => {
    const config = loadProcessorConfig({ KAFKA_BROKERS: 'a:1', OWN_HOSTS: 'db.internal, redis.internal,', BUCKET_FOLDERS: '/one, /two' })
    expect(ownHostsOf(config)).toEqual(['db.internal', 'redis.internal', 'a'])
    expect(config.BUCKET_FOLDERS).toEqual(['/one', '/two'])
    expect(() => loadProcessorConfig({ KAFKA_BROKERS: ' ,' })).toThrow('KAFKA_BROKERS: must not be empty')
  })

  it('are all named when they are missing or wrong', () => {
    expect(() => loadProcessorConfig({ LANES: '0', LOG_LEVEL: 'loud' })).toThrow(/KAFKA_BROKERS[^]*LOG_LEVEL[^]*LANES/)
    expect(() => loadProcessorConfig({ KAFKA_BROKERS: 'a:1', DPS_FAULTS: './x.ts' })).toThrow('is for tests alone')
    expect(() => loadProcessorConfig({ KAFKA_BROKERS: 'a:1,[::1]:1' })).toThrow('KAFKA_BROKERS: an IPv6 address needs a name')
  })
})
