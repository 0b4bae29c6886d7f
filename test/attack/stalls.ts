/** How long the machine itself stood still: a thread that only wakes up, and notes how late it was. */
import { once } from 'node:events'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

const EVERY_MS = 5

export type Stalls = {
  /** The longest since the last call, in milliseconds. */
  longest(): Promise<number>
  close(): Promise<unknown>
}

/** Watches from a thread of its own: this one has other work. */
export function watchStalls(): Stalls {
  const worker = new Worker(import.meta.filename, { name: 'stalls' })
  return {
    async longest() {
      worker.postMessage('longest')
      const [longest] = (await once(worker, 'message')) as [number]
      return longest
    },
    close: () => worker.terminate(),
  }
}

if (!isMainThread) {
  let longest = 0
  let last = performance.now()
  setInterval(() => {
    const now = performance.now()
    longest = Math.max(longest, now - last - EVERY_MS)
    last = now
  }, EVERY_MS)
  parentPort!.on('message', () => {
    parentPort!.postMessage(longest)
    longest = 0
  })
}
