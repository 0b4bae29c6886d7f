/** A child's side of the pipe to its parent, which is trusted: nothing of it is bounded. */
import { Socket } from 'node:net'
import type { z } from 'zod'
import { openLines, type Lines } from './lines.ts'
import { PIPE_FD } from './watched-child.ts'

/** `onBytes` as of `openLines`. `onGone`: the parent has ended, or does not speak the protocol. */
export type ParentOptions<In> = {
  schema: z.ZodType<In>
  onValue(value: In): void
  onBytes?(bytes: Buffer<ArrayBuffer>): void
  onGone(): void
}

/** The pipe's lines; `leave` exits once the parent has all that was sent. Signals to the process group are left to the parent. */
export function openParent<In, Out>({ onGone, ...options }: ParentOptions<In>): Lines<Out> & { leave(): void } {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
  const pipe = new Socket({ fd: PIPE_FD })
  pipe.on('close', onGone)
  const unbounded = { lineBytesMax: Number.POSITIVE_INFINITY, bytesPerSecondMax: Number.POSITIVE_INFINITY }
  const lines = openLines<In, Out>({ pipe, ...options, ...unbounded, now: Date.now, onBroken: onGone })
  return {
    ...lines,
    leave() {
      pipe.removeListener('close', onGone)
      pipe.end(() => process.exit(0))
    },
  }
}
