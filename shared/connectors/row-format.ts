/** How a sink wants its rows encoded; lanes encode them, so that a sink passes bytes on. */
import { z } from 'zod'

/**
 * A column of a table as COPY sees it: `json` takes documents as they are, `bytes` takes base64 and stores what it stands for. `absent`
 * stands for a member that a record does not have.
 */
export const CopyColumn = z.object({ name: z.string(), kind: z.enum(['plain', 'json', 'bytes']), absent: z.string() })
export type CopyColumn = z.infer<typeof CopyColumn>

/** What a row may tell of its record beside the value. */
export const RowMetadata = z.enum(['offset', 'partition', 'timestamp', 'op', 'commit_time'])
export type RowMetadata = z.infer<typeof RowMetadata>

export const RowFormat = z.discriminatedUnion('kind', [
  /** One JSON document a line; `metadata`: members that are added to it, as `encode/row-metadata.ts` names them. `onlyObjects`: anything else, a deletion too, is refused. */
  z.object({ kind: z.literal('json_lines'), metadata: z.array(RowMetadata).optional(), onlyObjects: z.boolean().optional() }),
  /** Postgres COPY, text format. `isWhole`: the one column takes the whole document. `deletes`: one more column tells records without a value. */
  z.object({
    kind: z.literal('copy'),
    columns: z.array(CopyColumn),
    isWhole: z.boolean(),
    deletes: z.boolean(),
    ignoresUnknown: z.boolean(),
  }),
  /** Whole records, as `encode/whole-records.ts` has them: for sinks that keep keys and headers. */
  z.object({ kind: z.literal('records') }),
  /** Members of an object as delimited fields, in this order (RFC 4180). */
  z.object({ kind: z.literal('csv'), columns: z.array(z.string()), delimiter: z.string() }),
])
export type RowFormat = z.infer<typeof RowFormat>
