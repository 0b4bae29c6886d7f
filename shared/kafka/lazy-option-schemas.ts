/**
 * `@platformatic/kafka` compiles the schemas of all its clients' options while it is imported: some 0.25 s of CPU time in each process that
 * starts. It looks at them only in clients with the option `strict`, and no client here has it. So they are compiled when one is looked at.
 */
import { Ajv2020, type AnySchema, type ValidateFunction } from 'ajv/dist/2020.js'

const { compile } = Ajv2020.prototype

/** Stands for the compiled schema, and compiles it when it is first called. */
function compileLazily(this: Ajv2020, schema: AnySchema): (value: unknown) => boolean {
  let compiled: ValidateFunction | undefined
  const validate = (value: unknown): boolean => {
    compiled ??= compile.call(this, schema)
    const isValid = compiled(value) === true
    Object.assign(validate, { errors: compiled.errors })
    return isValid
  }
  return validate
}

Object.defineProperty(Ajv2020.prototype, 'compile', { value: compileLazily, configurable: true })

/** For all that is imported afterwards, schemas are compiled at once again. */
export function compileAtOnce(): void {
  Reflect.deleteProperty(Ajv2020.prototype, 'compile')
}
