/** The runners that serve a group, from the processors' metrics: each processor has a spare one too, which serves none. */

const SERVING = /^dps_runner_memory_bytes\{group="([^"]+)",pid="(\d+)"\}/gm

/** A processor that does not answer, as one that is being started again, has none. `withinMs`: how long each is waited for. */
export async function servingRunners(metricsUrls: readonly string[], withinMs?: number): Promise<{ group: string; pid: number }[]> {
  const pages = await Promise.all(
    metricsUrls.map(async (url) => {
      const answer = await fetch(url, withinMs === undefined ? {} : { signal: AbortSignal.timeout(withinMs) }).catch(() => undefined)
      return (await answer?.text().catch(() => '')) ?? ''
    }),
  )
  return pages.flatMap((page) => [...page.matchAll(SERVING)].map(([, group, pid]) => ({ group: group!, pid: Number(pid) })))
}
