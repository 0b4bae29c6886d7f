/** What an open tab of the console knows of the world: who is signed in elsewhere, whether the service still answers, how late it is. */
import { describe, expect, it } from 'vitest'
import { hasBrowser, linkFor, useConsole } from '../harness/browser.ts'
import { eventually, service } from '../harness/client.ts'
import { createStream, write } from '../harness/pipelines.ts'
import { limitMs } from '../harness/machine-speed.ts'

const { client, accountId, inConsole, newTab } = await useConsole()
const at = (path: string) => `${service().apiUrl}/console/${path}`

describe.skipIf(!hasBrowser)('signing out', () => {
  it('takes what the other tabs show with it', async () => {
    await inConsole(async ({ page, context }) => {
      const other = await context.newPage()
      await other.goto(at('streams'))
      await other.getByRole('heading', { name: 'Streams' }).waitFor()
      await page.getByRole('button', { name: 'Sign out' }).click()
      await other.getByRole('heading', { name: 'Sign in' }).waitFor()
      expect(await other.getByRole('heading', { name: 'Streams' }).count()).toBe(0)
    })
  })

  it('that was not done here is said in plain words', async () => {
    await inConsole(async ({ page, context }) => {
      await page.goto(at('start'))
      // Without it the page asks again and again who is signed in.
      await page.route('**/v1/events', (route) => route.abort())
      await page.reload()
      await page.getByText('Try it on them').waitFor()
      await context.clearCookies()
      // A dialog may be over it already.
      await page.getByText('Try it on them').dispatchEvent('click')
      await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor()
      expect(await page.getByText('Authorization header').count()).toBe(0)
      let asked = 0
      page.on('request', (request) => (asked += Number(request.url().endsWith('/v1/session'))))
      await page.waitForTimeout(9000)
      expect(asked).toBeLessThan(3)
    })
  })
})

describe.skipIf(!hasBrowser)('a link that signs in', () => {
  it('is kept until it is used, also when the page is loaded again', async () => {
    const { page, context } = await newTab()
    await page.goto(await linkFor(accountId))
    const button = page.getByRole('button', { name: 'Sign in by the link' })
    await button.waitFor()
    await page.reload()
    await button.click()
    await page.getByRole('heading', { name: 'Pipelines' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Pipelines' }).waitFor()
    expect([await button.count(), page.url()]).toEqual([0, at('')])
    await context.close()
  })
})

describe.skipIf(!hasBrowser)('a tab that follows a stream', () => {
  it('says so when the service hangs, and goes on; its times go on meanwhile', async () => {
    const stream = await createStream(client, { n: 'integer' }, { partitions: 1 })
    await inConsole(async ({ page }) => {
      await page.goto(at(`streams/${stream.id}`))
      await page.getByRole('button', { name: 'Follow' }).click()
      await write(client, stream.id, [{ n: 1 }])
      const time = page.getByRole('region', { name: 'Records as they come' }).locator('time')
      const first = await time.innerText()
      // A connection that is open, and a service that says nothing.
      await page.route('**/v1/session', () => {})
      await page.getByText('Reconnecting:').waitFor({ timeout: limitMs(30_000) })
      await page.getByText('reconnecting', { exact: true }).waitFor()
      expect(await time.innerText()).not.toBe(first)
      await page.unroute('**/v1/session')
      await page.getByText('Reconnecting:').waitFor({ state: 'detached', timeout: limitMs(30_000) })
      await write(client, stream.id, [{ n: 2 }])
      await eventually('the next one comes', async () => (await time.count()) === 2)
      await page.getByText('listening').waitFor()
    })
  })
})
