/**
 * One member of a consumer group, whatever its work is: its assignment, its status, and what it is asked to do from outside (pause, stop).
 * The work itself is a loop in `run-assignments.ts`.
 */
import { openMembership, type Assignment, type Membership, type MembershipOptions } from '../../../shared/kafka/membership.ts'
import { cutText, REASON_CHARACTERS_MAX } from '../../../shared/model/text.ts'
import { TASK_STATUSES, type Task, type TaskEnd, type TaskStatus, type TaskView } from './task-view.ts'

export type MemberOptions = {
  /** Then it says so from the start: its pipeline stays paused, with its reason, when its processor starts again. */
  isPaused: boolean
  /** Hides secrets in what is shown. */
  mask(reason: string): string
  onChange(): void
  log(level: 'info' | 'warn', message: string): void
}

export type Member = ReturnType<typeof createMember>
/** The assignment holds, and the member is to work on it. */
export const isAtWorkOn = (member: Member, owned: Assignment): boolean =>
  member.assignment === owned && !member.isResting() && !member.isStopping

export type JoinOptions = Omit<MembershipOptions, 'heartbeatMs' | 'onAssigned' | 'onRevoked' | 'onError'>

/** A task may miss several heartbeats before its session ends. */
const HEARTBEAT_MS_MAX = 700
const HEARTBEATS_PER_SESSION = 6

/** Sleeps that end early when anything happens to the member: a stop, a pause, another assignment or revision. */
function createWaker() {
  let resolveSleep: (() => void) | undefined
  let wasWoken = false
  return {
    wake(): void {
      wasWoken = true
      resolveSleep?.()
    },
    /** What happened before does not end a later sleep. */
    forgetWakes(): void {
      wasWoken = false
    },
    async waitUntil(condition: () => boolean): Promise<void> {
      while (!condition()) await new Promise<void>((resolve) => (resolveSleep = resolve))
    },
    async pause(ms: number): Promise<void> {
      // A stop that came while something was awaited must not be slept through.
      if (wasWoken) return void (wasWoken = false)
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        resolveSleep = resolve
        timer = setTimeout(resolve, ms)
      })
      clearTimeout(timer)
    },
  }
}

/** An error of an account's server may have megabytes. Cut last, so that no part of a secret is left that `mask` does not know. */
const shownBy = (mask: MemberOptions['mask'], why: string): string => cutText(mask(why), REASON_CHARACTERS_MAX)

export function createMember({ isPaused, mask, onChange, log }: MemberOptions) {
  let status: TaskStatus = isPaused ? 'paused' : 'starting'
  let reason: string | null = null
  let heldBack: string | undefined
  let paused = isPaused
  let stopping = false
  let hasRun = false
  let assignment: Assignment | undefined
  let membership: Membership | undefined
  const { wake, waitUntil, pause, forgetWakes } = createWaker()
  let onInterrupt: (() => void) | undefined

  function become(to: TaskStatus, why: string | null = null): void {
    const shown = why === null ? null : shownBy(mask, why)
    const allowed: readonly string[] = TASK_STATUSES[status]
    if (status === to ? reason === shown : !allowed.includes(to)) return
    status = to
    reason = shown
    onChange()
  }

  /** Ends the work under way at its next border. */
  function interrupt(): void {
    onInterrupt?.()
    wake()
  }

  function assign(given: Assignment | undefined): void {
    assignment = given
    interrupt()
  }

  return {
    become,
    interrupt,
    /** The group has given partitions, or taken them back. */
    assign,
    wake,
    waitUntil,
    pause,
    forgetWakes,
    get assignment() {
      return assignment
    },
    get isStopping() {
      return stopping
    },
    get heldBack() {
      return heldBack
    },
    /** Paused from outside, or held back by itself. */
    isResting: () => paused || heldBack !== undefined,
    /** Called when the work is to end at its next border; one at a time. */
    set onInterrupt(listener: (() => void) | undefined) {
      onInterrupt = listener
    },
    /** Pauses by itself, until it is resumed from outside. */
    holdBack(why: string): void {
      heldBack = why
    },
    /** The group refused a commit under this assignment: the next one is waited for. */
    dropAssignment(lost: Assignment): void {
      if (assignment === lost) assignment = undefined
    },
    async join(options: JoinOptions): Promise<void> {
      membership = await openMembership({
        ...options,
        heartbeatMs: Math.min(HEARTBEAT_MS_MAX, Math.floor(options.sessionTimeoutMs / HEARTBEATS_PER_SESSION)),
        onAssigned(given) {
          log('info', `owns partitions ${given.partitions.join(',') || 'none'} in generation ${given.generationId}`)
          assign(given)
        },
        onRevoked: () => assign(undefined),
        onError: (error) => log('warn', `group membership: ${error.message}`),
      })
    },
    /** It has come as far as running: what fails from now on is no failure to start. */
    started(): void {
      hasRun = true
    },
    async leave(): Promise<void> {
      assignment = undefined
      await membership?.close()
    },
    /** The task as its supervisor sees it. `onResumed`: after a pause, or after it held itself back. */
    asTask(
      running: Promise<TaskEnd>,
      view: () => Pick<TaskView, 'revision' | 'inFlight' | 'recordsDone' | 'partitions'>,
      update: Task['update'],
      onResumed: () => void = () => {},
    ): Task {
      const ended = running.then((end): TaskEnd => {
        if (end.kind === 'broken') become('starting', `retrying: ${end.reason}`)
        else if (end.kind === 'failed') become('failed', end.reason)
        else become(end.kind === 'finished' ? 'finished' : 'stopped')
        return 'reason' in end ? { ...end, reason: shownBy(mask, end.reason) } : end
      })
      return {
        ended,
        view: () => ({ status, reason, heldBack: heldBack !== undefined, hasRun, ...view() }),
        setPaused(to) {
          if (paused === to) return
          paused = to
          if (!to) {
            // Who resumes it has seen why it held itself back.
            heldBack = undefined
            onResumed()
          }
          interrupt()
        },
        update,
        async stop() {
          stopping = true
          interrupt()
          await ended
        },
      }
    },
  }
}
