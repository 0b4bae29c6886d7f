/** A folder as a bucket: what a full disk, or a process that ends in the middle of a write, leaves of an object is no object. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { openFolderStore } from '../../shared/connectors/storage-bucket/folder-store.ts'
import type { ObjectStore } from '../../shared/connectors/storage-bucket/object-store.ts'

/** What happens to the next writes: each ends whole, or has written half of its bytes when the disk is full or its process ends. */
const disk = vi.hoisted(() => ({ next: [] as ('whole' | 'full' | 'killed')[] }))
vi.mock('node:fs/promises', async (original) => {
  const fs = await original<typeof import('node:fs/promises')>()
  const writeFile = async (path: string, data: string | Uint8Array, options?: object) => {
    const fate = disk.next.shift() ?? 'whole'
    await fs.writeFile(path, fate === 'whole' ? data : data.slice(0, data.length / 2), options)
    if (fate === 'full') throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    if (fate === 'killed') await new Promise(() => {})
  }
  return { ...fs, writeFile }
})

const { signal } = new AbortController()
const metadata = { 'dps-pipeline': 'pl_1' }
let folder: string
let store: ObjectStore
beforeEach(async () => {
  disk.next = []
  folder = await mkdtemp(join(tmpdir(), 'dps-folder-'))
  store = await openFolderStore(pathToFileURL(folder).href, [folder])
})
afterEach(() => rm(folder, { recursive: true }))

const put = (text: string) => store.putNew('in/a.ndjson', Buffer.from(text), metadata, signal)
async function listed(): Promise<string[]> {
  const found: string[] = []
  for await (const page of store.list('', signal)) found.push(...page.map(({ key, size }) => `${key} ${size}`))
  return found
}

it.each([1, 2])('a disk that is full at write %i leaves nothing, and the object is written once there is room', async (write) => {
  disk.next = [...Array<'whole'>(write - 1).fill('whole'), 'full']
  await expect(put('{"n":1}')).rejects.toThrow('ENOSPC')
  expect(await readdir(join(folder, 'in'))).toEqual([])
  expect(await put('{"n":1}')).toBe(true)
  expect(await listed()).toEqual(['in/a.ndjson 7'])
  expect(await store.metadataOf('in/a.ndjson', signal)).toEqual(metadata)
})

it.each([1, 2])('what a process that ended in write %i has left is not listed, and another writes the object', async (write) => {
  disk.next = [...Array<'whole'>(write - 1).fill('whole'), 'killed']
  void put('{"n":1}')
  // A busy disk takes seconds to write a file for good.
  await vi.waitFor(() => expect(disk.next).toEqual([]), { timeout: 60_000 })
  await vi.waitFor(async () => expect((await readdir(join(folder, 'in'))).length).toBeGreaterThanOrEqual(write), { timeout: 60_000 })
  expect(await listed()).toEqual([])
  expect(await put('{"n":1}')).toBe(true)
  expect(await listed()).toEqual(['in/a.ndjson 7'])
  expect(await store.metadataOf('in/a.ndjson', signal)).toEqual(metadata)
})

it('an object that is there keeps its bytes and its metadata', async () => {
  expect(await put('{"n":1}')).toBe(true)
  expect(await store.putNew('in/a.ndjson', Buffer.from('{}'), { 'dps-pipeline': 'pl_2' }, signal)).toBe(false)
  expect(await listed()).toEqual(['in/a.ndjson 7'])
  expect(await store.metadataOf('in/a.ndjson', signal)).toEqual(metadata)
})
