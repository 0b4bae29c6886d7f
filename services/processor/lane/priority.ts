/**
 * The operating system's priority of one lane: a SmartModule that keeps its thread busy must not take the processor's cores from the
 * others, however few there are. Linux schedules threads by themselves, so that a thread can be made to step back alone.
 */
import { readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

/** The calling thread's id as the kernel knows it (proc(5), /proc/thread-self); 0 where there is no such thing. */
export function ownThreadId(): number {
  try {
    return Number(/\d+$/.exec(readlinkSync('/proc/thread-self'))?.[0] ?? 0)
  } catch {
    return 0
  }
}

/** Lets a thread run only when nobody else wants the core. For good: rising again needs a privilege. Does nothing where threads can't. */
export function stepBack(threadId: number): void {
  if (threadId <= 0) return
  try {
    setPriority(threadId, constants.priority.PRIORITY_LOW)
  } catch {
    // The thread is gone, or the system forbids it: the deadlines hold without.
  }
}
