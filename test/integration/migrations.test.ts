/** Rows that an earlier version has written, in the schema of this one. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import * as membersPerAccount from '../../services/control-plane/store/migrations/0016-members-per-account.ts'
import * as taskRoles from '../../services/control-plane/store/migrations/0012-task-roles.ts'
import type { Database } from '../../services/control-plane/store/database.ts'
import { openOwnDatabase } from '../harness/own-database.ts'

let db: Database
let close: () => Promise<void>
beforeAll(async () => {
  ;({ db, close } = await openOwnDatabase('migrations'))
})
afterAll(() => close())

it('keeps the reports of intake tasks beside those of the chain, up and down', async () => {
  await db.transaction(taskRoles.down)
  const body = '{}'
  const older = [0, 1, 1000, 1001].map((task) => ({ pipeline_id: 'pl_a', task, body }))
  await db('observed_tasks').insert(older)
  await db.transaction(taskRoles.up)
  expect(await db('observed_tasks').orderBy(['role', 'task']).select('role', 'task')).toEqual([
    { role: 'chain', task: 0 },
    { role: 'chain', task: 1 },
    { role: 'intake', task: 0 },
    { role: 'intake', task: 1 },
  ])
  await db.transaction(taskRoles.down)
  expect(await db('observed_tasks').orderBy('task').select('pipeline_id', 'task')).toEqual(
    older.map(({ pipeline_id, task }) => ({ pipeline_id, task })),
  )
})

it('lets several accounts have an address, and keeps passwords, up and down', async () => {
  await db.transaction(membersPerAccount.down)
  for (const id of ['acc_a', 'acc_b']) await db('accounts').insert({ id, name: id, type: 'developer' })
  const ada = { id: 'mem_a', account_id: 'acc_a', name: 'Ada', email: 'ada@example.com', role: 'owner', password_hash: 'x' }
  await db('members').insert(ada)
  await db.transaction(membersPerAccount.up)
  expect(await db('members').first()).toMatchObject({ ...ada, provider_confirmed_at: null })
  await db('members').insert({ ...ada, id: 'mem_b', account_id: 'acc_b' })
  await expect(db('members').insert({ ...ada, id: 'mem_c' })).rejects.toThrow('members_email')
  await db.transaction(membersPerAccount.down)
  expect(await db('members').select('id')).toEqual([{ id: 'mem_a' }])
  await db.transaction(membersPerAccount.up)
})
