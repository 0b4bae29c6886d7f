/**
 * Stops the whole processor (SIGSTOP of supervisor and runner) once, at a chosen moment of a round: its successor takes over, and what it
 * does after waking must be refused.
 */
import { existsSync } from 'node:fs'
import type { Phases } from '../../../services/processor/phases.ts'

/** Lets the first rounds pass, so that the freeze hits a task at work. */
let untilFreeze = 10

/** The processor may get tasks of other tests before it has its own: it stands still once the test says so. */
const armedBy = process.env.FAULT?.split(':')[1]

function freeze(): void {
  if (armedBy !== undefined && !existsSync(armedBy)) return
  if (--untilFreeze !== 0) return
  process.kill(process.ppid, 'SIGSTOP')
  process.kill(process.pid, 'SIGSTOP')
}

export const FREEZES = {
  freeze_before_chain: (phases) => ({
    ...phases,
    openLanes(options) {
      const lanes = phases.openLanes(options)
      return {
        ...lanes,
        async open(...parameters) {
          const chain = await lanes.open(...parameters)
          return {
            ...chain,
            run(...round) {
              freeze()
              return chain.run(...round)
            },
          }
        },
      }
    },
  }),
  freeze_before_output: (phases) => ({
    ...phases,
    deliver(...parameters) {
      freeze()
      return phases.deliver(...parameters)
    },
  }),
  freeze_before_offsets: (phases) => ({
    ...phases,
    commitRound(...parameters) {
      freeze()
      return phases.commitRound(...parameters)
    },
  }),
  freeze_before_commit: (phases) => ({
    ...phases,
    createProducer(...parameters) {
      const producer = phases.createProducer(...parameters)
      const { commit } = producer
      // The producer's getters must stay getters.
      return Object.defineProperty(producer, 'commit', {
        value() {
          freeze()
          return commit.call(producer)
        },
      })
    },
  }),
  freeze_after_commit: (phases) => ({
    ...phases,
    async commitRound(...parameters) {
      await phases.commitRound(...parameters)
      freeze()
    },
  }),
} satisfies Record<string, (phases: Phases) => Phases>

export type Freeze = keyof typeof FREEZES
