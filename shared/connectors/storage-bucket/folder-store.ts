/** A local folder as a bucket, for quick starts and tests. With symlinks resolved, it must lie in a folder that the operator allows. */
import { createReadStream } from 'node:fs'
import { mkdir, link, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ConfigRefused } from '../connector.ts'
import { ObjectChanged, type ObjectInfo, type ObjectStore } from './object-store.ts'

const METADATA = '.dps-metadata.json'
const PAGE = 1000

async function allowedFolder(url: string, allowed: readonly string[]): Promise<string> {
  const asked = URL.canParse(url) ? fileURLToPath(url) : undefined
  const folder = asked && (await realpath(asked).catch(() => undefined))
  if (folder === undefined) throw new ConfigRefused(`the folder ${url} does not exist`)
  for (const each of allowed) {
    const root = await realpath(each).catch(() => undefined)
    if (root !== undefined && (folder === root || folder.startsWith(root + sep))) return folder
  }
  throw new ConfigRefused('the operator does not allow buckets in that folder (BUCKET_FOLDERS)')
}

/** A folder as a bucket. Throws ConfigRefused for one outside of the allowed folders. */
export async function openFolderStore(url: string, allowed: readonly string[]): Promise<ObjectStore> {
  const root = await allowedFolder(url, allowed)
  const infoOf = async (path: string): Promise<ObjectInfo | undefined> => {
    const found = await stat(path).catch(() => undefined)
    if (!found?.isFile()) return undefined
    return {
      key: relative(root, path).split(sep).join('/'),
      etag: `${found.size}-${found.mtimeMs}`,
      size: found.size,
      modifiedAt: found.mtimeMs,
    }
  }
  /** Throws for a key that leads out of the folder. */
  const pathOf = (key: string): string => {
    const path = join(root, key)
    if (!path.startsWith(root + sep)) throw new ConfigRefused(`the key ${key} leads out of the folder`)
    return path
  }
  return {
    async *list(prefix) {
      const entries = await readdir(root, { recursive: true, withFileTypes: true })
      const paths = entries
        .filter((entry) => entry.isFile() && !entry.name.endsWith(METADATA))
        .map((entry) => join(entry.parentPath, entry.name))
        .filter((path) => relative(root, path).split(sep).join('/').startsWith(prefix))
        .sort()
      for (let at = 0; at < paths.length; at += PAGE)
        yield (await Promise.all(paths.slice(at, at + PAGE).map(infoOf))).filter((info) => info !== undefined)
    },
    async read(object, from) {
      const path = pathOf(object.key)
      if ((await infoOf(path))?.etag !== object.etag) throw new ObjectChanged(`the object ${object.key} changed while it was being read`)
      return createReadStream(path, { start: from })
    },
    async putNew(key, body, metadata) {
      const path = pathOf(key)
      // The metadata of an object that is there must stay as it is.
      if (await infoOf(path)) return false
      await mkdir(dirname(path), { recursive: true })
      // Files of this name are not listed. They get their own when all of their bytes are on the disk.
      const temporary = join(dirname(path), `.${randomUUID()}`)
      const [bodyFile, metadataFile] = [`${temporary}.body${METADATA}`, `${temporary}${METADATA}`]
      try {
        await writeFile(bodyFile, body, { flush: true })
        await writeFile(metadataFile, JSON.stringify(metadata), { flush: true })
        // First, so that no object is without metadata. It replaces that of a try which got no further than this.
        await rename(metadataFile, `${path}${METADATA}`)
        // Creating a link is atomic and never replaces another file.
        await link(bodyFile, path)
        return true
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
        throw error
      } finally {
        await Promise.all([bodyFile, metadataFile].map((each) => rm(each, { force: true })))
      }
    },
    async metadataOf(key) {
      const path = pathOf(key)
      if (!(await infoOf(path))) return undefined
      return JSON.parse(await readFile(`${path}${METADATA}`, 'utf8').catch(() => '{}')) as Record<string, string>
    },
    close() {},
  }
}
