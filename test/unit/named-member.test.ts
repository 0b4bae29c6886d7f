/** Where a fault of a step's config is, by what its SmartModule or its JSON Schema says of it. */
import { describe, expect, it } from 'vitest'
import { namedMember } from '../../services/control-plane/definitions/named-member.ts'
import { configFaults } from '../../services/control-plane/workshop/schema-faults.ts'

describe('the member that a text names', () => {
  it.each<[what: string, config: object, text: string, path: string]>([
    ['a member', { filter: '1 +' }, 'config.filter: 1:4: the expression ends too early', '/filter'],
    ['a member of a member', { set: { total: 'x' } }, 'config.set.total: 1:6: unexpected +', '/set/total'],
    ['a deep one', { fields: { day: { type: 'date', format: 'DD' } } }, 'config.fields.day.format has no year: YYYY', '/fields/day/format'],
    ['an item, in brackets', { emit: ['1', 'x('] }, 'config.emit[1]: 1:3: the expression ends too early', '/emit/1'],
    [
      'an item, behind a dot',
      { labels: { x: { keywords: ['a', 'b'] } } },
      'config.labels.x.keywords.1 has more words',
      '/labels/x/keywords/1',
    ],
    [
      'a name with dots',
      { fields: { 'a.b': { format: 'x' }, a: { b: {} } } },
      'config.fields.a.b.format has no year',
      '/fields/a.b/format',
    ],
    ['a name with dots, or two names', { set: { a: { b: 1 }, 'a.b': 2 } }, 'config.set.a.b must be text', '/set/a.b'],
    ['the names that are there', { fields: { 'a.b': {}, a: { b: { c: 1 } } } }, 'config.fields.a.b.c is wrong', '/fields/a/b/c'],
    ['a name with spaces', { set: { 'a b: c': 'x' } }, 'config.set.a b: c: 1:1: x is not known here', '/set/a b: c'],
    ['escaped, as JSON pointers are', { set: { 'a/b~c': 'x' } }, 'config.set.a/b~c: 1:1: x is not known here', '/set/a~1b~0c'],
    ['not what is missing', { fields: { day: {} } }, 'config.fields.day.type is missing', '/fields/day'],
    ['nothing where it is missing', { operator: 'eq' }, 'config.value is required for eq', ''],
    ['not the beginning of a name', { fil: 1 }, 'config.filter must be text', ''],
    ['not what every object has', {}, 'config.constructor is wrong', ''],
    ['nothing of another text', { filter: 1 }, 'see config.filter', ''],
    ['nothing of the config itself', { filter: 1 }, 'config needs filter, set or emit', ''],
    ['no item beyond the end', { emit: ['1'] }, 'config.emit[1] must be text', '/emit'],
  ])('is %s', (_, config, text, path) => {
    expect(namedMember(config, text).path).toBe(path)
  })

  it.each([
    [{ filter: '1 +' }, 'config.filter: 1:4: the expression ends too early', '1:4: the expression ends too early'],
    [{ set: { 'a b: c': 'x' } }, 'config.set.a b: c: 1:1: x is not known here', '1:1: x is not known here'],
    [{ emit: ['1', 'x('] }, 'config.emit[1]: 1:3: the expression ends too early', '1:3: the expression ends too early'],
    [{ filter: '1' }, 'config.filter must give true or false', 'must give true or false'],
    [{ labels: [{ words: 1 }] }, 'config.labels.0.words has more words', 'has more words'],
    // What is about another member than the one that is there stays whole.
    [{ fields: { day: {} } }, 'config.fields.day.type is missing', 'config.fields.day.type is missing'],
    [{ emit: ['1'] }, 'config.emit[1] must be text', 'config.emit[1] must be text'],
    [{ filter: 1 }, 'config.filter', 'config.filter'],
    [{ operator: 'eq' }, 'config.value is required for eq', 'config.value is required for eq'],
  ])('is not said again behind its path: %#', (config, text, message) => {
    expect(namedMember(config, text).message).toBe(message)
  })
})

describe('the member that a JSON Schema finds wrong', () => {
  it.each<[what: string, schema: object, config: object, path: string]>([
    ['not known', { additionalProperties: false }, { 'a/b': 1 }, '/a~1b'],
    ['missing', { properties: { 'a~': { required: ['b/c'] } } }, { 'a~': {} }, '/a~0/b~1c'],
    ['wrong', { properties: { a: { items: { type: 'string' } } } }, { a: ['x', 1] }, '/a/1'],
    ['named wrongly', { properties: { set: { propertyNames: { maxLength: 2 } } } }, { set: { long: 1 } }, '/set/long'],
  ])('is named where it is %s', (_, schema, config, path) => {
    expect([...new Set(configFaults({ type: 'object', ...schema }, config).map((fault) => fault.path))]).toEqual([path])
  })
})
