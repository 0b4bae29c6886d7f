/** Which names a bucket may have: only those for which the library asks the endpoint that was given. */
import { expect, it } from 'vitest'
import { bucketConnector } from '../../shared/connectors/storage-bucket/connector.ts'

const isAccepted = (bucket: string): boolean => bucketConnector.source!.config.safeParse({ bucket }).success

it.each(['demo', 'a.b-c', 'Old_Name', 'file:///data/in'])('%s is accepted', (name) => expect(isAccepted(name)).toBe(true))
it.each(['', '.', '..', '/', 'a/b', 'x--use1-az4--x-s3', 'arn:aws:s3:::demo', 'mine-s3alias', 'a b'])('%s is refused', (name) =>
  expect(isAccepted(name)).toBe(false),
)
