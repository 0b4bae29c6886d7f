/** What follows when a member's work is interrupted: what is shown, what is tried again, and what ends it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Interrupted } from '../../services/processor/interruption.ts'
import { createMember } from '../../services/processor/member/member.ts'
import { runAssignments, type Work } from '../../services/processor/member/run-assignments.ts'

const PATIENCE = { minMs: 1, maxMs: 4, failuresMax: 5 }
const OWNED = { memberId: 'm', generationId: 1, partitions: [0] }

function start(work: Partial<Work>, patience = PATIENCE) {
  const shown: string[] = []
  const member = createMember({
    isPaused: false,
    mask: (reason) => reason,
    onChange: () => shown.push(`${task.view().status}: ${task.view().reason}`),
    log: () => {},
  })
  const whole: Work = {
    isPreparing: () => false,
    prepare: () => Promise.resolve(),
    run: () => Promise.resolve(false),
    startOver: () => Promise.resolve(),
    recordsDone: () => 0,
    ...work,
  }
  const view = () => ({ revision: 1, inFlight: 0, recordsDone: 0, partitions: [] })
  const ended = Promise.resolve().then(() => runAssignments(member, whole, patience, () => {}))
  const task = member.asTask(ended, view, () => {})
  member.assign(OWNED)
  return { member, task, shown }
}

describe('a member whose work is interrupted', () => {
  it('fails after a bounded number of failures that nothing explains, a failing start over among them', async () => {
    const { task } = start({
      run: () => Promise.reject(new Interrupted('transaction_broken', 'no answer')),
      startOver: () => Promise.reject(new Error('not authorised')),
    })
    expect(await task.ended).toEqual({ kind: 'failed', reason: 'gave up after 5 attempts: not authorised' })
  })

  it('waits for brokers without limit, and shows why', async () => {
    let attempts = 0
    const { task, shown } = start({
      run: () => Promise.reject(new Interrupted('brokers_away', 'the broker is away')),
      startOver() {
        attempts++
        return Promise.reject(new Interrupted('brokers_away', 'still away'))
      },
    })
    for (let waited = 0; attempts <= 20 && waited < 5000; waited += 5) await sleep(5)
    expect(attempts).toBeGreaterThan(20)
    expect(shown).toContain('running: retrying: still away')
    expect(shown.slice(shown.indexOf('running: retrying: still away'))).not.toContain('running: null')
    await task.stop()
    expect(await task.ended).toEqual({ kind: 'stopped' })
  })

  it('ends at once when it is stopped while it starts over, whatever its backoff', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { task } = start(
      { run: () => Promise.reject(new Interrupted('transaction_broken', 'no answer')), startOver: () => promise },
      { ...PATIENCE, minMs: 60_000, maxMs: 60_000 },
    )
    await sleep(20)
    const stopped = task.stop()
    resolve()
    await stopped
    expect(await task.ended).toEqual({ kind: 'stopped' })
  })

  it('holds itself back when too many records fail, and goes on when it is resumed', async () => {
    let rounds = 0
    const { task } = start({
      run: () => (++rounds === 1 ? Promise.reject(new Interrupted('threshold_passed', 'too many records failed')) : Promise.resolve(true)),
    })
    for (let waited = 0; !task.view().heldBack && waited < 2000; waited += 5) await sleep(5)
    expect(task.view()).toMatchObject({ status: 'paused', reason: 'too many records failed', heldBack: true })
    task.setPaused(true)
    task.setPaused(false)
    expect(await task.ended).toEqual({ kind: 'finished' })
  })

  it('stops where another has taken the task over', async () => {
    const { task } = start({
      run: () => Promise.reject(new Interrupted('transaction_broken', 'no answer')),
      startOver: () => Promise.reject(new Interrupted('taken_over', 'fenced')),
    })
    await expect(task.ended).rejects.toMatchObject({ interruption: { kind: 'taken_over' } })
  })
})
