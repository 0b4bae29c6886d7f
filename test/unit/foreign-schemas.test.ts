/** JSON Schemas from the registry: what a stream shows of one, and how often it is compiled for that. */
import Ajv from 'ajv'
import { afterEach, expect, it, vi } from 'vitest'
import { fieldsOf } from '../../services/control-plane/registry/fields.ts'
import { unavailable } from '../../services/control-plane/service-error.ts'

const compile = vi.spyOn(Ajv.Ajv.prototype, 'compile')
afterEach(() => compile.mockClear())

const schemaOf = (properties: object) => ({ text: JSON.stringify({ type: 'object', properties }), references: [] })

it('a schema is compiled for the first check, and no more for the next ones', () => {
  const properties = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}`, { type: 'string', maxLength: index }]))
  const first = fieldsOf('json', schemaOf(properties))
  expect(Object.keys(first)).toHaveLength(100)
  for (let again = 0; again < 3; again++) expect(fieldsOf('json', schemaOf(properties))).toEqual(first)
  expect(compile).toHaveBeenCalledTimes(1)
  expect(fieldsOf('json', schemaOf({ a: { type: 'integer' } }))).toEqual({ a: 'integer?' })
  expect(compile).toHaveBeenCalledTimes(2)
})

it('a schema that can’t be used is refused with the same reason, without another try', () => {
  const wrong = schemaOf({ a: { type: 'string', pattern: '(' } })
  const reason = () => {
    try {
      return fieldsOf('json', wrong)
    } catch (error) {
      return (error as Error).message
    }
  }
  const first = reason()
  expect(first).toMatch(/Invalid regular expression/)
  const tries = compile.mock.calls.length
  expect(reason()).toBe(first)
  expect(compile).toHaveBeenCalledTimes(tries)
})

it('a schema for which the machine had no time is compiled when it is asked for again', () => {
  const schema = schemaOf({ busy: { type: 'integer' } })
  compile.mockImplementationOnce(() => {
    throw unavailable('enough CPU time')
  })
  expect(() => fieldsOf('json', schema)).toThrow(/not available/)
  expect(fieldsOf('json', schema)).toEqual({ busy: 'integer?' })
})
