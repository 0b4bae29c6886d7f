/** ETags of resources, and what requests say about them in If-Match. */
import { createHash } from 'node:crypto'
import type { PipelineRow } from '../store/pipelines.ts'
import { ServiceError } from '../service-error.ts'
import type { Caller } from '../deps.ts'

/** Throws 412 if the caller's If-Match does not name the resource's ETag (RFC 9110 §13.1.1). */
export function assertIfMatch({ ifMatch }: Caller, headers: Record<string, string>): void {
  if (ifMatch === undefined || ifMatch.trim() === '*') return
  if (!ifMatch.split(',').some((tag) => tag.trim() === headers.ETag))
    throw new ServiceError('precondition_failed', 'the resource has changed: its ETag does not match If-Match')
}

/** ETag of a pipeline: changes with what requests make of it, and not with its status, which becomes another one by itself. */
export function pipelineEtag({ id, revision, name, description }: PipelineRow): Record<string, string> {
  const texts = createHash('sha256')
    .update(JSON.stringify([name, description]))
    .digest('base64url')
    .slice(0, 12)
  return { ETag: `"${id}-${revision}-${texts}"` }
}

/** ETag of a row: changes whenever the row does. */
export function etagOf(row: { id: string; updated_at?: Date; created_at: Date }, extra = ''): Record<string, string> {
  return { ETag: `"${row.id}-${(row.updated_at ?? row.created_at).getTime().toString(36)}${extra}"` }
}
