/** What became of a record that failed and was sent again. */
import type { ExplainRecordResponse } from './generated/types.ts'

type Explained = Pick<ExplainRecordResponse, 'redrives' | 'redriven' | 'revision'>

/** The redrive that decided what became of the record; undefined where it was not redriven, or was handled again since. */
export function lastRedrive({ redrives, redriven, revision }: Explained): ExplainRecordResponse['redrives'][number] | undefined {
  const last = redrives.at(-1)
  return last && (redriven || (last.outcome === 'dead_letter' && last.revision >= revision)) ? last : undefined
}
