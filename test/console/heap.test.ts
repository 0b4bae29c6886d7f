/**
 * What a page keeps in memory while it follows a stream: no more after a long time than after a short one. `make console-heap` takes half
 * an hour.
 */
import type { CDPSession, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { limitMs } from '../harness/machine-speed.ts'
import { hasBrowser, useConsole } from '../harness/browser.ts'
import { service, unique } from '../harness/client.ts'
import { createStream } from '../harness/pipelines.ts'

const FOLLOWED_MS = Number(process.env.TAIL_MINUTES ?? '0.5') * 60_000
/** A page comes to its size first: code is compiled, lists fill up. */
const WARM_MS = FOLLOWED_MS / 3
const LOOKS = 6
/** Of what the browser compiles meanwhile. */
const GROWTH_MAX = 1 << 20

const { client, inConsole } = await useConsole()

type Weight = { heapBytes: number; nodes: number }

/** What is left once all garbage is collected. */
async function weigh(session: CDPSession): Promise<Weight> {
  for (let turn = 0; turn < 2; turn++) await session.send('HeapProfiler.collectGarbage')
  const { metrics } = await session.send('Performance.getMetrics')
  const of = (name: string) => metrics.find((metric) => metric.name === name)!.value
  return { heapBytes: of('JSHeapUsedSize'), nodes: of('Nodes') }
}

async function weighedWhile(page: Page): Promise<Weight[]> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  await page.waitForTimeout(limitMs(WARM_MS))
  const weights = [await weigh(session)]
  for (let look = 1; look < LOOKS; look++) {
    await page.waitForTimeout((FOLLOWED_MS - WARM_MS) / (LOOKS - 1))
    weights.push(await weigh(session))
  }
  return weights
}

describe.skipIf(!hasBrowser)('a page that follows a stream', () => {
  it('does not grow', { timeout: FOLLOWED_MS + 900_000 }, async () => {
    const stream = await createStream(client, { n: 'integer', text: 'string' }, { partitions: 2 })
    const { status, body } = await client.call('POST', '/v1/pipelines', {
      name: unique('heap'),
      source: { connector_id: 'generator', config: { records_per_second: 1000 } },
      processors: [],
      sink: { connector_id: 'stream', config: { stream_id: stream.id } },
    })
    expect([status, body]).toMatchObject([201, {}])
    await inConsole(async ({ page }) => {
      await page.goto(`${service().apiUrl}/console/streams/${stream.id}`)
      await page.getByRole('button', { name: 'Follow' }).click()
      const newest = page.getByRole('region', { name: 'Records as they come' }).locator('tbody tr').first()
      await newest.waitFor()
      const before = await newest.innerText()
      const weights = await weighedWhile(page)
      expect(await newest.innerText()).not.toBe(before)
      process.stdout.write(
        `followed for ${FOLLOWED_MS / 60_000} min: ${weights.map(({ heapBytes, nodes }) => `${(heapBytes / 2 ** 20).toFixed(1)} MiB, ${nodes} nodes`).join('; ')}\n`,
      )
      // What a moment's garbage, or rows that were just replaced, add to one look is not in all of them.
      const first = weights[0]!
      const least = (of: keyof Weight) => Math.min(...weights.slice(-3).map((weight) => weight[of]))
      expect(least('heapBytes') - first.heapBytes).toBeLessThan(GROWTH_MAX)
      expect(least('nodes')).toBeLessThan(1.5 * first.nodes)
    })
  })
})
