/** The order in which a run takes its files: the longest first, so that no test worker waits for the other's last one. */
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { LAST_FILE } from './timed-runner.ts'

/** By far the longest. */
const FIRST = 'test/chaos/short.test.ts'

const rankOf = ({ moduleId }: TestSpecification): number => (moduleId.endsWith(FIRST) ? 0 : moduleId.endsWith(LAST_FILE) ? 2 : 1)

export default class OrderOfFiles extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b))
  }
}
