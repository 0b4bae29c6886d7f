/** A thread of a connector's own, because the main thread sends heartbeats and moves other pipelines' records. */
import { Worker } from 'node:worker_threads'
import { inTurns } from '../model/turns.ts'

/** What such a thread is sent: one part of what is asked. The code in the thread knows which one is the last. */
export type AskedPart<Part> = { id: number; part: Part }
/** What the thread answers to the last part. */
export type ThreadAnswer<Made> = { id: number; made: Made } | { id: number; error: string }

/** A worker thread that makes something of what it is sent; none is started once it is closed. */
export type Thread<Part, Made> = {
  /** Parts are copied. Rejects if the thread ends; the next call starts another one. */
  ask(parts: readonly Part[]): Promise<Made>
  close(): Promise<void>
}

/** Posts the parts. Yields where it may pause. */
function* post<Part>(worker: Worker, id: number, parts: readonly Part[]): Generator<void, void> {
  for (const [index, part] of parts.entries()) {
    worker.postMessage({ id, part } satisfies AskedPart<Part>)
    if (index < parts.length - 1) yield
  }
}

/** Returns the thread that runs this file. It is started at its first use; `name` is what errors call it. */
export function openThread<Part, Made>(file: URL, name: string): Thread<Part, Made> {
  let worker: Worker | undefined
  let next = 1
  let isClosed = false
  const waiting = new Map<number, PromiseWithResolvers<Made>>()

  function start(): Worker {
    const started = new Worker(file, { name })
    started.on('message', (answer: ThreadAnswer<Made>) => {
      const settled = waiting.get(answer.id)
      waiting.delete(answer.id)
      if ('error' in answer) settled?.reject(new Error(answer.error))
      else settled?.resolve(answer.made)
    })
    const end = (reason: string) => {
      // The end of one that failed comes when another one may be at work.
      if (worker !== started) return
      worker = undefined
      for (const settled of waiting.values()) settled.reject(new Error(reason))
      waiting.clear()
    }
    for (const event of ['error', 'messageerror']) started.on(event, (error: Error) => end(`the ${name} thread failed: ${error.message}`))
    started.on('exit', () => end(`the ${name} thread ended`))
    // The thread must not keep the process alive.
    started.unref()
    return started
  }

  return {
    async ask(parts) {
      if (isClosed) throw new Error(`the ${name} thread is closed`)
      const own = (worker ??= start())
      const id = next++
      const settled = Promise.withResolvers<Made>()
      // The thread may end while parts are posted, before anyone waits for its answer.
      settled.promise.catch(() => {})
      waiting.set(id, settled)
      await inTurns(post(own, id, parts))
      return settled.promise
    },
    async close() {
      isClosed = true
      await worker?.terminate()
    },
  }
}
