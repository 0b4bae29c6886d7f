/** The API's operations, which are found by the names of their contracts. */
import { expect, it } from 'vitest'
import { read, tracked } from './repository.ts'

it('operations are named after their contracts: createStreamOperation is of createStreamContract', () => {
  const named = tracked
    .filter((path) => path.startsWith('services/control-plane/routes/'))
    .flatMap((path) =>
      [...read(path).matchAll(/^export const (\w+) = operation\((\w+)/gm)].map(([, own, contract]) => [own!, contract!] as const),
    )
  expect(named.length).toBeGreaterThan(70)
  expect(named.filter(([own, contract]) => own !== contract.replace(/Contract$/, 'Operation'))).toEqual([])
})

it('contracts are named after their ids, so that a search for an id finds its handler', () => {
  const named = tracked
    .filter((path) => path.startsWith('shared/api/'))
    .flatMap((path) =>
      [...read(path).matchAll(/^export const (\w+) = \w+\(\{\s*id: '(\w+)'/gm)].map(([, name, id]) => [name, `${id}Contract`]),
    )
  expect(named.length).toBeGreaterThan(70)
  expect(named.filter(([name, wanted]) => name !== wanted)).toEqual([])
})
