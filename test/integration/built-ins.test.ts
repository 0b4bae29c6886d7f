/** Built-in SmartModules in a database that has those of an earlier build. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { cacheFolder } from '../../deploy/local/cache.ts'
import { installBuiltIns } from '../../services/control-plane/start/built-ins.ts'
import type { Database } from '../../services/control-plane/store/database.ts'
import { openOwnDatabase } from '../harness/own-database.ts'

let db: Database
let close: () => Promise<void>
beforeAll(async () => {
  ;({ db, close } = await openOwnDatabase('builtins'))
})
afterAll(() => close())

const versions = () =>
  db('smartmodule_versions').orderBy(['smartmodule_id', 'ordinal']).select('smartmodule_id', 'version', 'sha256', 'config')

it('keep their version where nothing has changed, and get one for a changed schema; descriptions follow', async () => {
  await installBuiltIns(db, cacheFolder())
  const first = await versions()
  await installBuiltIns(db, cacheFolder())
  expect(await versions()).toEqual(first)

  const { id, description } = await db('smartmodules').where({ name: 'dps/sample' }).first()
  await db('smartmodules').where({ id }).update({ description: 'of an earlier build' })
  await db('smartmodule_versions')
    .where({ smartmodule_id: id })
    .update({ config: JSON.stringify({ parameters: { type: 'object' } }) })
  await installBuiltIns(db, cacheFolder())
  const [older, newer] = (await versions()).filter(({ smartmodule_id }) => smartmodule_id === id)
  expect(older).toMatchObject({ version: '1.0.0', config: { parameters: { type: 'object' } } })
  expect(newer).toEqual({ ...first.find(({ smartmodule_id }) => smartmodule_id === id), version: '1.0.1' })
  expect((await db('smartmodules').where({ id }).first()).description).toBe(description)
  expect(await versions()).toHaveLength(first.length + 1)
})

it('of a newer build stay the newest ones when a control plane of the build before starts again', async () => {
  await installBuiltIns(db, cacheFolder())
  const { id } = await db('smartmodules').where({ name: 'dps/route-by' }).first()
  const newest = await db('smartmodule_versions').where({ smartmodule_id: id }).orderBy('ordinal', 'desc').first()
  const { config, source, tests, created_at: _, ...rest } = newest
  const parameters = { ...config.parameters, title: 'of a newer build' }
  await db('smartmodule_versions').insert({
    ...rest,
    version: '9.0.0',
    ordinal: Number(newest.ordinal) + 1,
    config: JSON.stringify({ parameters }),
    source: source && JSON.stringify(source),
    tests: tests && JSON.stringify(tests),
  })
  const before = await versions()
  await installBuiltIns(db, cacheFolder())
  expect(await versions()).toEqual(before)
})
