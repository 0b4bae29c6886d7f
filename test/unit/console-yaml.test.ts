/** YAML in the console is read as the command line reads it, by another parser. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromYaml, toYaml } from '../../clients/cli/src/output.ts'
import { writeJson } from '../../clients/typescript/src/core/exact-json.ts'
import { parseYaml } from '../../services/console/src/yaml.ts'

describe('YAML in the console', () => {
  it.each([
    'a: 1\nb: [x, "y", \'z\']\nc: { d: null, e: ~, f: }',
    'n: 9007199254740993\nprice: 12.50\nsmall: 1e-7\nwhole: 5.0\nlong: 0.1000000000000000055511151231257827',
    'plus: +5\nzeros: 007\nhex: 0x1F\noctal: 0o17\nhalf: .5\npoint: 5.\nsign: -0\nnot: 1_000\nor: 0b11\nnor: 12:30',
    'yes: yes\nno: no\non: on\ntrue: True\nfalse: FALSE\nday: 2026-11-29\nversion: 1.2.3',
    'base: &base { a: 1, b: 2 }\nmore: { <<: *base, b: 3 }\nlist: [*base]',
    'text: |\n  one\n  two\nfolded: >-\n  one\n  two',
    '# nothing\n---\na: "\\u00e9\\n"\n...',
    '{"json": [1, 2.50, {"a": null}]}',
    '- 1\n- - 2\n  - 3',
  ])('has the values that the command line finds: %j', (text) => {
    expect(writeJson(parseYaml(text))).toBe(writeJson(fromYaml(text)))
  })

  it.each([
    'a: 1\na: 2',
    'a: *nothing',
    'a: .inf',
    'a: .nan',
    'a: !!binary aGk=',
    'a: !own 1',
    'a: [1',
    '--- 1\n--- 2',
    'a: 0x20000000000001',
    'a:\n\t- b',
    'a: &a { b: *a }',
    '- &b [1, { c: *b }]',
  ])('refuses what it refuses: %j', (text) => {
    expect(() => fromYaml(text)).toThrow()
    expect(() => parseYaml(text)).toThrow()
  })

  it('says where it is wrong', () => {
    expect(() => parseYaml('a: 1\nb: c: d')).toThrow(/^line 2, column \d+: /)
    expect(() => parseYaml('a: 1\nb: .inf')).toThrow('.inf is not a number of JSON')
  })

  it('reads any JSON as the command line writes it in YAML', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const text = toYaml(value)
        expect(writeJson(parseYaml(text))).toBe(writeJson(fromYaml(text)))
      }),
    )
  })
})
