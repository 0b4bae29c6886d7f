/** A migrated database of a test's own, on the service's server. */
import { migrate, openDatabase, type Database } from '../../services/control-plane/store/database.ts'
import { service, unique } from './client.ts'

export async function openOwnDatabase(kind: string): Promise<{ db: Database; close(): Promise<void> }> {
  const name = unique(kind).replaceAll('-', '_')
  const url = new URL(service().env.DATABASE_URL!)
  const admin = openDatabase(url.href, 1)
  await admin.raw(`CREATE DATABASE ${name}`)
  url.pathname = `/${name}`
  const db = openDatabase(url.href, 2)
  await migrate(db)
  return {
    db,
    async close() {
      await db.destroy()
      await admin.raw(`DROP DATABASE ${name}`)
      await admin.destroy()
    },
  }
}
