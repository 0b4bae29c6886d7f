/** The row formats that a sink can ask for. Lanes encode the rows, so that a sink only passes bytes on. */
import { z } from 'zod'

/**
 * A table column for COPY. `kind`: `json` takes documents unchanged, `bytes` takes base64 and stores the decoded bytes. `absent` is written
 * for a member that the record does not have.
 */
export const CopyColumn = z.object({ name: z.string(), kind: z.enum(['plain', 'json', 'bytes']), absent: z.string() })
/** A table column for COPY. */
export type CopyColumn = z.infer<typeof CopyColumn>

/** Metadata of a record that its row may include beside the value. */
export const RowMetadata = z.enum(['offset', 'partition', 'timestamp', 'op', 'commit_time'])
/** One kind of metadata that a row may include. */
export type RowMetadata = z.infer<typeof RowMetadata>

/** How a sink's rows are encoded. */
export const RowFormat = z.discriminatedUnion('kind', [
  /**
   * One JSON document per line. `metadata`: members added to it (`encode/row-metadata.ts`). `onlyObjects`: refuses other values and
   * deletions.
   */
  z.object({ kind: z.literal('json_lines'), metadata: z.array(RowMetadata).optional(), onlyObjects: z.boolean().optional() }),
  /**
   * Postgres COPY, text format. `isWhole`: the only column takes the whole document. `deletes`: an extra column marks records without a
   * value. `ignoresUnknown`: skips members that have no column.
   */
  z.object({
    kind: z.literal('copy'),
    columns: z.array(CopyColumn),
    isWhole: z.boolean(),
    deletes: z.boolean(),
    ignoresUnknown: z.boolean(),
  }),
  /** Whole records (`encode/whole-records.ts`), for sinks that keep keys and headers. */
  z.object({ kind: z.literal('records') }),
  /** Members of an object as delimited fields, in this order (RFC 4180). */
  z.object({ kind: z.literal('csv'), columns: z.array(z.string()), delimiter: z.string() }),
])
/** How a sink's rows are encoded, by `kind`. */
export type RowFormat = z.infer<typeof RowFormat>
