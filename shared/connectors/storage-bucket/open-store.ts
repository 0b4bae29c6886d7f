/** Opens the store that a config names: an S3-compatible one, or a folder. */
import { addressGuardOf } from '../address-guard.ts'
import { ConfigRefused, type ConnectorContext } from '../connector.ts'
import type { Secret } from '../secret.ts'
import { openFolderStore } from './folder-store.ts'
import type { ObjectStore } from './object-store.ts'
import { prefixedStore } from './prefixed-store.ts'
import { openS3Store } from './s3-store.ts'

/** Where a bucket is, and with what it is opened. */
export type Place = { bucket: string; endpoint?: string; region?: string; access_key?: Secret; secret_key?: Secret }

const FOLDER_SCHEME = 'file://'

/** Throws ConfigRefused for a folder that the operator does not allow, and if neither config nor operator sets the endpoint and keys. */
export async function openObjectStore(place: Place, context: ConnectorContext): Promise<ObjectStore> {
  if (place.bucket.startsWith(FOLDER_SCHEME)) return openFolderStore(place.bucket, context.defaults.bucket_folders)
  const { bucket: defaults } = context.defaults
  // An account's own endpoint never gets the operator's credentials.
  const endpoint = place.endpoint ?? defaults?.endpoint
  if ((place.access_key === undefined) !== (place.secret_key === undefined))
    throw new ConfigRefused('the bucket has one of access_key and secret_key: name both, or none')
  // Never one key of the account's with one of the operator's: the access key is no secret.
  const hasOwnKeys = place.access_key !== undefined
  const accessKey = place.access_key ? context.secret(place.access_key) : place.endpoint ? undefined : defaults?.access_key
  const secretKey = place.secret_key ? context.secret(place.secret_key) : place.endpoint ? undefined : defaults?.secret_key
  if (endpoint === undefined || accessKey === undefined || secretKey === undefined)
    throw new ConfigRefused('the bucket has no endpoint or no keys: neither the config nor the operator has set them')
  const store = openS3Store({
    bucket: place.bucket,
    endpoint,
    region: place.region ?? defaults?.region ?? 'us-east-1',
    accessKey,
    secretKey,
    guard: place.endpoint === undefined ? undefined : addressGuardOf(context.defaults.addresses),
  })
  return defaults?.prefix === undefined || hasOwnKeys ? store : prefixedStore(store, defaults.prefix)
}
