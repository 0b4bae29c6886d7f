/** Where an expression says that it failed for a record. */
import { expect, it } from 'vitest'
import { openTestChain } from '../harness/chains.ts'

it.each([
  ['value.a > 1 &&\n  value.b.c == 2', '{"a":2,"b":{}}', '2:10: no such key: b.c'],
  // The branch that is not taken may fail too.
  ['value.x ? value.y : value.z', '{"x":false}', '1:26: no such key: z'],
  ['value.x ? value.y : value.z', '{"x":true}', '1:16: no such key: y'],
  // What a macro repeats counts as the macro.
  ['value.l.all(i, i.n > 0)', '{"l":[{}]}', '1:8: no such key: n'],
  ['value.l[value.i] > 0', '{"l":[1],"i":1}', '1:8: index out of bounds: 1'],
  // It takes half of the work that one record may take, and is done again to find the place.
  ['value.l.map(a, value.l.map(b, a * b)).size() > value.n', JSON.stringify({ l: Array(200).fill(1) }), '1:53: no such key: n'],
  // Where that is not enough, no place is given.
  [
    'value.l.map(a, value.l.map(b, value.l.map(c, c))).size() > 0',
    JSON.stringify({ l: Array(200).fill(1) }),
    'the expression takes more than 400,000 steps for one record',
  ],
])('%j says where it failed', async (filter, value, message) => {
  for (const step of [
    { name: 'dps/cel', config: { filter } },
    { name: 'dps/filter', config: { expression: filter } },
  ]) {
    const { failures } = await (await openTestChain([step])).run([value])
    expect(failures.map((each) => each.message)).toEqual([`${step.name === 'dps/cel' ? 'filter' : 'expression'}: ${message}`])
  }
})
