/**
 * The order in which a run takes its files: first by far the longest, then what is quick and needs little, then the rest. Where a slow
 * machine's time ends before its files do (`TEST_UNTIL`), the fewest tests are left out.
 */
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { LAST_FILE } from './timed-runner.ts'

const RANKS: readonly RegExp[] = [/^test\/chaos\/short\./, /^test\/(house|unit|property)\//, /^test\/contract\//]

function rankOf({ moduleId }: TestSpecification): number {
  const path = relative(process.cwd(), moduleId)
  const rank = RANKS.findIndex((each) => each.test(path))
  return rank >= 0 ? rank : RANKS.length + (path === LAST_FILE ? 1 : 0)
}

export default class TestSequence extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // Stable: the longest of a rank stay the first of it, so that no worker waits for the other's last file.
    return (await super.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b))
  }
}
