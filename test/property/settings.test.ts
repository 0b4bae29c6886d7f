/** Typed settings: what a class says becomes the JSON Schema of configs, and the values that a module sees. */
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { compileSmartModule, SmartModuleCompileError } from '../../shared/smartmodule/compile.ts'
import { configFaults } from '../../services/control-plane/workshop/schema-faults.ts'
import { settingsOf } from '../../shared/smartmodule/settings.ts'
import { openTestChain } from '../harness/chains.ts'

const SOURCE = `import { Path, Record, Segment } from 'dps'
export class Settings {
  /** What to look for. */
  text!: string
  /**
   * How much of it.
   * @minimum 0
   * @maximum 10
   */
  share: f64 = 0.5
  large: i64 = 12
  small: i32 = -3
  strict: bool = true
  /** @enum red, green */
  colour: string = 'red'
  tags: string[] = ['a', "it's"]
  weights: f64[] = [1, 2.5]
  ids: i64[] = []
}
export const settings = new Settings()
const big = new Path('big')
export function map(record: Record): void {
  const weights = settings.weights.reduce((sum: f64, each: f64) => sum + each, 0.0)
  const ids = settings.ids.map<string>((each: i64) => each.toString())
  record.setText(new Segment('text'), settings.text)
  record.setNumber(new Segment('share'), settings.share)
  record.setInteger(new Segment('large'), settings.large)
  record.setInteger(new Segment('small'), settings.small)
  record.setBool(new Segment('strict'), settings.strict)
  record.setText(new Segment('tags'), settings.tags.join('|'))
  record.setNumber(new Segment('weights'), weights)
  record.setJson(new Segment('ids'), '[' + ids.join(',') + ']')
  record.setInteger(new Segment('big'), record.integer(big) + 1)
}
`

describe('the settings of a source', () => {
  let module: WebAssembly.Module
  beforeAll(async () => {
    module = await WebAssembly.compile(await compileSmartModule(SOURCE))
  })

  it('become a JSON Schema with defaults, and what their doc blocks say', async () => {
    expect(await settingsOf(SOURCE)).toMatchObject({
      parameters: {
        type: 'object',
        required: ['text'],
        additionalProperties: false,
        properties: {
          text: { type: 'string', description: 'What to look for.' },
          share: { type: 'number', description: 'How much of it.', minimum: 0, maximum: 10, default: 0.5 },
          large: { type: 'integer', minimum: -(2 ** 53) + 1, maximum: 2 ** 53 - 1, default: 12 },
          small: { type: 'integer', minimum: -2_147_483_648, default: -3 },
          strict: { type: 'boolean', default: true },
          colour: { type: 'string', enum: ['red', 'green'], default: 'red' },
          tags: { type: 'array', items: { type: 'string' }, default: ['a', "it's"] },
          weights: { type: 'array', items: { type: 'number' }, default: [1, 2.5] },
          ids: { type: 'array', items: { type: 'integer', minimum: -(2 ** 53) + 1, maximum: 2 ** 53 - 1 }, default: [] },
        },
      },
    })
  })

  it('have values of their own type in their enums, and what is said of lists of values said of each', async () => {
    const source = `export class Settings {
  /** @enum 1, 2, 3 */
  level: i32 = 1
  /** @enum 0.5, 2 */
  share: f64 = 0.5
  /** @enum true */
  yes: bool = true
  /**
   * Colours.
   * @enum red, green
   * @maxItems 2
   */
  colours: string[] = []
  /**
   * @minimum 0
   * @minItems 1
   */
  weights: f64[] = [1]
  /** @pattern ^a */
  names: string[] = []
}
export const settings = new Settings()`
    const { parameters } = (await settingsOf(source)) as { parameters: Record<string, unknown> }
    expect(parameters.properties).toMatchObject({
      level: { type: 'integer', enum: [1, 2, 3] },
      colours: { type: 'array', description: 'Colours.', maxItems: 2, items: { type: 'string', enum: ['red', 'green'] } },
    })
    const good = { level: 2, share: 2, yes: true, colours: ['red', 'red'], weights: [0], names: ['ab'] }
    expect(configFaults(parameters, good)).toEqual([])
    const bad = { level: 4, share: 1, yes: false, colours: ['blue'], weights: [-1], names: ['b'] }
    expect(configFaults(parameters, bad).map(({ path }) => path)).toEqual([
      '/level',
      '/share',
      '/yes',
      '/colours/0',
      '/weights/0',
      '/names/0',
    ])
    expect(configFaults(parameters, { colours: ['red', 'red', 'red'], weights: [] }).map(({ path }) => path)).toEqual([
      '/colours',
      '/weights',
    ])
  })

  it.each([
    ['i32', 'one', 'level: @enum: one is no integer that the field can have'],
    ['i32', '2.5', 'level: @enum: 2.5 is no integer that the field can have'],
    ['i32', '9999999999', 'level: @enum: 9999999999 is no integer that the field can have'],
    ['bool', 'yes', 'level: @enum: yes is no boolean that the field can have'],
    ['f64[]', '1, x', 'level: @enum: x is no number that the field can have'],
  ])('are refused where an enum of a %s has what is none (%s)', async (type, values, message) => {
    const source = `export class Settings {
  /** @enum ${values} */
  level!: ${type}
}
export const settings = new Settings()`
    expect(await settingsOf(source)).toMatchObject({ faults: [{ message }] })
  })

  it('have their defaults where a config says nothing', async () => {
    const chain = await openTestChain([{ name: 'm', config: { text: 'x' } }], { m: module })
    const { values, failures } = await chain.run(['{"big":9007199254740993}'])
    expect(failures).toEqual([])
    expect(values[0]).toBe(
      `{"big":9007199254740994,"text":"x","share":0.5,"large":12,"small":-3,"strict":true,"tags":"a|it's","weights":3.5,"ids":[]}`,
    )
  })

  it('have what the config says, whatever it is', async () => {
    const config = fc.record({
      text: fc.string({ unit: 'grapheme' }),
      share: fc.double({ noNaN: true, noDefaultInfinity: true }),
      large: fc.maxSafeInteger(),
      small: fc.integer(),
      strict: fc.boolean(),
      tags: fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 5 }),
      ids: fc.array(fc.maxSafeInteger(), { maxLength: 5 }),
    })
    await fc.assert(
      fc.asyncProperty(config, async (given) => {
        const chain = await openTestChain([{ name: 'm', config: given }], { m: module })
        const { values, failures } = await chain.run(['{"big":-9223372036854775808}'])
        expect(failures).toEqual([])
        const made = JSON.parse(values[0]!) as typeof given & { big: number }
        expect({ ...made, tags: undefined }).toMatchObject({ ...given, share: given.share + 0, tags: undefined })
        expect(made.tags).toBe(given.tags.join('|'))
        expect(values[0]).toContain('"big":-9223372036854775807')
      }),
      { numRuns: 60 },
    )
  })

  it('are refused where JavaScript, which parses configs, would make another whole number of them', async () => {
    const source = `export class Settings {
  /** @maximum 1e30 */
  a: i64 = 9
  /** @minimum -1e30 */
  b: i32 = 9
  list: i64[] = []
}
export const settings = new Settings()`
    const { parameters } = (await settingsOf(source)) as { parameters: object }
    const least = { a: -(2 ** 53) + 1, b: -(2 ** 31), list: [2 ** 53 - 1] }
    expect(configFaults(parameters, least)).toEqual([])
    for (const large of [1e19, 2 ** 63, 2 ** 53, -1e300]) {
      const faults = configFaults(parameters, { a: large, b: large, list: [large] })
      expect(faults.map(({ path }) => path)).toEqual(['/a', '/b', '/list/0'])
    }
  })

  it('are refused by the module where a schema of its own lets through what is no whole number', async () => {
    const open = (config: object) => openTestChain([{ name: 'm', config: { text: 'x', ...config } }], { m: module })
    await expect(open({ large: 1e19 })).rejects.toThrow('config.large: 10000000000000000000 is no whole number of 64 bits')
    await expect(open({ large: 2.5 })).rejects.toThrow('config.large: 2.5 is no whole number of 64 bits')
    await expect(open({ ids: [0, 1, -1e300] })).rejects.toThrow('config.ids: -1e+300 is no whole number of 64 bits')
  })

  it('are refused, with line and column, for a type that no config has', async () => {
    const compile = (source: string) =>
      compileSmartModule(source).then(
        () => [],
        (error: unknown) => (error instanceof SmartModuleCompileError ? error.faults : []),
      )
    const wrong = `import { Record } from 'dps'
export class Settings {
  at: Date = new Date(0)
}
export function filter(record: Record): bool { return true }
`
    expect(await compile(wrong)).toEqual([
      { line: 2, column: 1, message: expect.stringContaining('export const settings') },
      { line: 3, column: 3, message: expect.stringContaining('the type of at must be one of string, bool, f64') },
    ])
  })

  it('have the tags that stand behind their description', async () => {
    const source = `export class Settings {
  /** The mode. @enum fast, exact */
  mode: string = 'fast'
  /** How many. @minimum 1 @maximum 5 */
  many: f64 = 2
  /** Ask ops@example.com or @ops. */
  who: string = ''
  /**
   * A name.
   * @pattern ^[a-z @]+$
   */
  name: string = 'a'
}
export const settings = new Settings()`
    const { parameters } = (await settingsOf(source)) as unknown as { parameters: { properties: object } }
    expect(parameters.properties).toEqual({
      mode: { type: 'string', description: 'The mode.', enum: ['fast', 'exact'], default: 'fast' },
      many: { type: 'number', description: 'How many.', minimum: 1, maximum: 5, default: 2 },
      who: { type: 'string', description: 'Ask ops@example.com or @ops.', default: '' },
      name: { type: 'string', description: 'A name.', pattern: '^[a-z @]+$', default: 'a' },
    })
    expect(configFaults(parameters, { mode: 'slow', many: 9 }).map(({ path }) => path)).toEqual(['/mode', '/many'])
  })

  it('are none where a class of another name, or a private one, is there', async () => {
    expect(await settingsOf('class Settings { a: f64 = 1 }')).toBeUndefined()
    expect(await settingsOf('// class Settings\nexport class Other { a: f64 = 1 }')).toBeUndefined()
  })
})
