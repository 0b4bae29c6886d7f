/** What a sink is told of the types behind a chain, and what accounts' configs may cost the control plane's main thread meanwhile. */
import { expect, it } from 'vitest'
import { fieldsAfter } from '../../services/control-plane/definitions/fields-behind.ts'
import { celTypeOf } from '../../services/control-plane/workshop/cel-types.ts'

const typesOf = (expressions: string[], fields: Record<string, string>) =>
  Promise.resolve(expressions.map((each) => celTypeOf(each, fields)))

const within = async (milliseconds: number, work: () => unknown): Promise<void> => {
  const from = performance.now()
  await work()
  expect(performance.now() - from).toBeLessThan(milliseconds)
}

it('follows the types through a chain', async () => {
  const steps = [
    { name: 'dps/cel', config: { set: { doubled: 'value.id * 2', name: 'value.name + "x"' } } },
    { name: 'dps/cel', config: { set: { again: 'value.doubled' } } },
    { name: 'dps/redact', config: { fields: { name: 'drop' } } },
  ]
  expect(await fieldsAfter({ id: 'integer', name: 'string' }, steps, typesOf)).toEqual({
    id: 'integer',
    doubled: 'integer',
    again: 'integer',
  })
  expect(await fieldsAfter({ id: 'integer' }, [{ name: 'dps/cel', config: { emit: '[value]' } }], typesOf)).toBeUndefined()
  expect(await fieldsAfter({ id: 'integer' }, [{ name: 'constructor', config: {} }], typesOf)).toBeUndefined()
})

it('reads no more expressions of a step than a workshop reads in time; the others may give any value', async () => {
  const set = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}`, `1${' + 1'.repeat(1000)}`]))
  let characters = 0
  const counted = (expressions: string[]) => {
    characters += expressions.join('').length
    return Promise.resolve(expressions.map(() => 'integer'))
  }
  const fields = await fieldsAfter({ f99: 'string' }, [{ name: 'dps/cel', config: { set } }], counted)
  expect(characters).toBeGreaterThan(100_000)
  expect(characters).toBeLessThan(200_000)
  expect(fields).toMatchObject({ f0: 'integer', f99: 'any' })
})

it('is not slow for white space in an expression', () => within(2000, () => expect(celTypeOf(`1${' '.repeat(60_000)}+`, {})).toBe('any')))

it('is not slow for casts of many paths in many arrays', () =>
  within(2000, async () => {
    const names = Array.from({ length: 1000 }, (_, index) => `field${index}`)
    const asked = Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [`other${index}.x`, 'string']))
    const before = Object.fromEntries(names.map((name) => [name, 'array<string>']))
    const after = await fieldsAfter(before, [{ name: 'dps/cast', config: { fields: { ...asked, 'field7.a': 'integer' } } }], typesOf)
    expect(after).toMatchObject({ field6: 'array<string>', field7: 'any' })
  }))
