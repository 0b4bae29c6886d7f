/** Which topics and subjects an account may use for streams. */
import { describe, expect, it } from 'vitest'
import { mayAdoptTopic, mayUseSubject } from '../../shared/model/adoption.ts'

const rules = (...patterns: string[]) => ({ patterns, prefix: 'dps' })

describe('adopting a topic', () => {
  it.each([
    [['orders'], 'orders', true],
    [['orders'], 'orders.eu', false],
    [['orders.*'], 'orders.eu', true],
    [['orders.*'], 'order', false],
    [['acc_1/orders'], 'orders', true],
    [['acc_2/orders'], 'orders', false],
    [['acc_2/orders', 'ord*'], 'orders', true],
    [[], 'orders', false],
    [['*'], 'dps.acc_1.st_1', false],
    [['*'], 'dps.definitions', false],
    [['*'], '__consumer_offsets', false],
    [['*', '_*'], '_schemas', false],
    [['_mine'], '_mine', true],
    [['*'], 'dpsother', true],
  ])('is allowed under the patterns %j for %s: %s', (patterns, topic, isAllowed) => {
    expect(mayAdoptTopic(rules(...patterns), 'acc_1', topic)).toBe(isAllowed)
  })
})

describe('using a schema', () => {
  it.each([
    ['orders-value', true],
    ['orders-key', true],
    ['orders', true],
    ['invoices-value', false],
    ['dps.acc_1.st_1-value', true],
    ['dps.acc_2.st_1-value', false],
    ['dps.acc_10.st_1-value', false],
  ])('is allowed under the subject %s: %s', (subject, isAllowed) => {
    expect(mayUseSubject(rules('orders*'), 'acc_1', subject)).toBe(isAllowed)
  })
})
