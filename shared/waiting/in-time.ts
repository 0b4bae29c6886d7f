/** Waits for work that may take too long. */

/** What the work comes to, or the error of `late` where it takes longer than `ms`. The work itself goes on. */
export async function inTime<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  const ended = Promise.withResolvers<never>()
  const timer = setTimeout(() => ended.reject(late()), ms)
  try {
    return await Promise.race([work, ended.promise])
  } finally {
    clearTimeout(timer)
  }
}
