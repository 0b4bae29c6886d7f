/**
 * The operating system priority of one lane: a SmartModule that keeps its thread busy must not take the cores from the other lanes,
 * however few cores there are. Linux schedules each thread separately, so the priority of a single thread can be lowered.
 */
import { readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

/** The calling thread's id as the kernel knows it (proc(5), /proc/thread-self); 0 where the system has no such id. */
export function ownThreadId(): number {
  try {
    return Number(/\d+$/.exec(readlinkSync('/proc/thread-self'))?.[0] ?? 0)
  } catch {
    return 0
  }
}

/** Gives a thread the lowest priority, for good: raising it again needs a privilege. Does nothing where the thread's id is unknown. */
export function lowerPriority(threadId: number): void {
  if (threadId <= 0) return
  try {
    setPriority(threadId, constants.priority.PRIORITY_LOW)
  } catch {
    // The thread is gone, or the system forbids it: the deadlines hold anyway.
  }
}
