/** A name that another resource of the account has. */
import { ServiceError } from '../service-error.ts'
import { isUniqueViolation } from '../store/database.ts'

/** The result of `work`. Throws 409 naming the name where it breaches a unique index; `kind` is of the resource. */
export async function orNameTaken<T>(kind: string, name: string | undefined, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw new ServiceError('conflict', `a ${kind} named "${name}" already exists`, {
      cause: error,
      details: [{ path: '/name', message: 'is taken' }],
    })
  }
}
