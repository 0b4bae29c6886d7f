/** What the console's forms keep, send and ask while one fills them in, in a real browser. */
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { hasBrowser, useConsole } from '../harness/browser.ts'
import { eventually, service, unique } from '../harness/client.ts'
import { createPipeline, createStream, waitForStatus, write, type Step } from '../harness/pipelines.ts'

const { client, inConsole } = await useConsole()
const at = (path: string) => `${service().apiUrl}/console/${path}`

const filter = (value: number): Step => ({ name: 'dps/filter', config: { field: 'n', operator: 'gt', value } })

/** A pipeline that is not running, which its own form changes. */
async function stopped(name: string, steps: Step[], more: Record<string, unknown> = {}): Promise<string> {
  const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
  return createPipeline(client, from.id, steps, to.id, { name, autostart: false, ...more })
}

/** Requests there get their answers only once what is returned is called. */
async function holdBack(page: Page, pattern: string): Promise<() => Promise<void>> {
  const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await page.route(pattern, async (route) => {
    asked.resolve()
    await held.promise
    await route.continue()
  })
  return async () => {
    await asked.promise
    held.resolve()
  }
}

const valueOf = (page: Page, step: number) => page.getByRole('group', { name: `Step ${step}` }).getByLabel(/^Value/)

describe.skipIf(!hasBrowser)('the form of a pipeline', () => {
  it('leaves the policy of its steps to the pipeline', async () => {
    const name = unique('policies')
    const id = await stopped(name, [filter(10)], { on_error: { policy: 'skip' } })
    await inConsole(async ({ page }) => {
      await page.goto(at(`pipelines/${id}/change`))
      await valueOf(page, 1).fill('100')
      const policy = page.getByRole('group', { name: 'Step 1' }).getByLabel('A record that fails')
      expect(await policy.locator('option:checked').innerText()).toBe('the pipeline’s default')
      await page.getByRole('button', { name: 'Show what it changes' }).click()
      await page.getByRole('button', { name: 'Save it' }).click()
      await page.getByRole('heading', { name, exact: true }).waitFor()
    })
    expect((await client.call('PATCH', `/v1/pipelines/${id}`, { on_error: { policy: 'fail' } })).status).toBe(200)
    const { body } = await client.call<{ processors: unknown[] }>('GET', `/v1/pipelines/${id}`)
    expect(body.processors).toMatchObject([{ config: { value: 100 }, on_error: { policy: 'fail' } }])
  })

  it('shows each step its own config when the steps of one SmartModule change places', async () => {
    const id = await stopped(unique('places'), [filter(1), filter(2), filter(3)])
    await inConsole(async ({ page }) => {
      await page.goto(at(`pipelines/${id}/change`))
      const step = (number: number) => page.getByRole('group', { name: `Step ${number}` })
      const values = () => Promise.all([1, 2, 3].map((number) => valueOf(page, number).inputValue()))
      await valueOf(page, 3).waitFor()
      expect(await values()).toEqual(['1', '2', '3'])
      // No JSON yet: it stays in the field of its step.
      await valueOf(page, 3).fill('[3')
      await step(2).getByRole('button', { name: 'up', exact: true }).click()
      await eventually('the second is the first', async () => (await values()).join() === '2,1,[3')
      await step(2).getByRole('button', { name: 'remove', exact: true }).click()
      await page.getByRole('group', { name: 'Step 3' }).waitFor({ state: 'detached' })
      expect([await valueOf(page, 1).inputValue(), await valueOf(page, 2).inputValue()]).toEqual(['2', '[3'])
      await valueOf(page, 2).fill('30')
      await page.getByRole('button', { name: 'Show what it changes' }).click()
      await page.getByRole('region', { name: 'What it changes' }).getByText('30').first().waitFor()
    })
  })

  it('takes numbers as people type them', async () => {
    const id = await stopped(unique('numbers'), [{ name: 'dps/sample', config: { share: 0.25 } }])
    await inConsole(async ({ page }) => {
      await page.goto(at(`pipelines/${id}/change`))
      const share = page.getByLabel(/^Share/)
      await share.fill('')
      await share.pressSequentially('.5')
      expect(await share.inputValue()).toBe('.5')
      await page.getByRole('button', { name: 'Show what it changes' }).click()
      const rows = page.getByRole('region', { name: 'What it changes' }).locator('tbody tr')
      await rows.first().waitFor()
      expect(await rows.allInnerTexts()).toEqual(['step 1: config.share\t0.25\t0.5'])
    })
  })

  it('saves only what its plan is about, also where the answer comes late', async () => {
    const id = await stopped(unique('late'), [filter(10)])
    await inConsole(async ({ page }) => {
      await page.goto(at(`pipelines/${id}/change`))
      const release = await holdBack(page, '**/v1/pipelines/*/plan')
      const show = page.getByRole('button', { name: 'Show what it changes' })
      const save = page.getByRole('button', { name: 'Save it' })
      await valueOf(page, 1).fill('100')
      await show.click()
      await valueOf(page, 1).fill('200')
      await release()
      await show.waitFor()
      expect(await save.count()).toBe(0)
      await show.click()
      await save.waitFor()
      const rows = page.getByRole('region', { name: 'What it changes' }).locator('tbody tr')
      expect(await rows.allInnerTexts()).toEqual(['step 1: config.value\t10\t200'])
    })
  })
})

describe.skipIf(!hasBrowser)('a group of dead letters', () => {
  it('has a change saved only once it was tried, also where the answer comes late', async () => {
    const schema = { sum: 'integer', count: 'integer' }
    const [from, to] = [await createStream(client, schema, { partitions: 1 }), await createStream(client, schema)]
    const id = await createPipeline(client, from.id, [{ name: 'dps/cel', config: { filter: 'value.sum / value.count > 0' } }], to.id)
    await waitForStatus(client, id, 'running')
    await write(client, from.id, [
      { sum: 1, count: 0 },
      { sum: 2, count: 0 },
    ])
    await eventually('it has failed', async () => {
      const { body } = await client.call<{ groups: { count: number }[] }>('GET', `/v1/pipelines/${id}/dead-letters/groups`)
      return body.groups[0]?.count === 2
    })
    await inConsole(async ({ page }) => {
      await page.goto(at(`pipelines/${id}/dead-letters`))
      await page.locator('.groups a').first().click()
      const filter = page.locator('.fix').getByLabel(/^Filter/)
      const tryIt = page.getByRole('button', { name: /Try on 2/ })
      const save = page.getByRole('button', { name: 'Save as the next revision' })
      // Why neither it nor a redrive can be pressed yet.
      await page.getByText('Change something first.').waitFor()
      await page.getByText('Count them first.').waitFor()
      const release = await holdBack(page, '**/v1/pipelines/*/preview')
      await filter.fill('value.count == 0')
      await page.getByText('Try the change first.').waitFor()
      await tryIt.click()
      await filter.fill('value.count == 1')
      await release()
      await eventually('the trial is over', () => tryIt.isEnabled())
      expect([await save.isEnabled(), await page.locator('.fix td .badge').count()]).toEqual([false, 0])
      await tryIt.click()
      await eventually('it can be saved', () => save.isEnabled())
      // A trial that is refused says nothing about its record.
      const error = { code: 'unavailable', message: 'a process for the request is not available' }
      await page.route('**/v1/pipelines/*/preview', (route) => route.fulfill({ status: 503, json: { error } }))
      await tryIt.click()
      await page.getByText('The service is busy: a process for the request is not available').waitFor()
      await page.unroute('**/v1/pipelines/*/preview')
      expect(await page.getByText('were not run').count()).toBe(0)
      // What is written stays when the records leave the list.
      await page.route('**/v1/pipelines/*/dead-letters?*', (route) =>
        route.fulfill({ json: { dead_letters: [], total: 0, page: 1, page_size: 20 } }),
      )
      await page.getByText('None of this group is pending any more.').waitFor()
      await page.getByText('No record is pending.').waitFor()
      expect(await filter.inputValue()).toBe('value.count == 1')
      // What is written there would be lost.
      page.once('dialog', (dialog) => void dialog.accept())
      const ofGroup = async (group: string, heading: string) => {
        const asked = page.waitForRequest('**/v1/pipelines/*/dead-letters?*error=*')
        await page.goto(at(`pipelines/${id}/dead-letters?group=${encodeURIComponent(group)}`))
        await page.getByRole('heading', { name: heading }).waitFor()
        const { searchParams } = new URL((await asked).url())
        return [searchParams.get('module'), searchParams.get('pattern')]
      }
      const own = 'failed in step 1, own|module 1.0.0'
      expect(await ofGroup('1|own|module|1.0.0|failed', own)).toEqual(['own|module', null])
      expect(await ofGroup('1|own|module|1.0.0|failed\na|b\n…', own)).toEqual(['own|module', 'a|b\n…'])
      // The sink's: a step of an earlier, longer chain may have had its number.
      expect(await ofGroup('1|||refused', 'refused in the sink')).toEqual(['', null])
    })
  })
})

/** Answers what the page asks before it is left: with Stay, or by `isLeft` with Leave. Keeps which kinds of questions came. */
function answerOn(page: Page): { asked: string[]; isLeft: boolean } {
  const answers = { asked: [] as string[], isLeft: false }
  page.on('dialog', async (dialog) => {
    answers.asked.push(dialog.type())
    await (answers.isLeft ? dialog.accept() : dialog.dismiss())
  })
  return answers
}

describe.skipIf(!hasBrowser)('a service that is busy', () => {
  it('is asked again for a trial, as it says, and not for what makes something', async () => {
    await inConsole(async ({ page }) => {
      const busy = {
        status: 503,
        headers: { 'Retry-After': '1' },
        json: { error: { code: 'unavailable', message: 'enough CPU time is not available' } },
      }
      let [trials, streams] = [0, 0]
      await page.route('**/v1/smartmodules/test', (route) => (++trials % 3 === 0 ? route.continue() : route.fulfill(busy)))
      await page.route('**/v1/streams', (route) =>
        route.request().method() === 'POST' ? (streams++, route.fulfill(busy)) : route.continue(),
      )
      await page.goto(at('start'))
      const tryIt = page.getByRole('button', { name: 'Try it on them' })
      await tryIt.click()
      // Which of the two is under way.
      await page.getByRole('button', { name: 'Trying…' }).waitFor()
      await page.getByRole('button', { name: 'Make the pipeline' }).waitFor()
      await page.getByText('3 records:').waitFor()
      expect(trials).toBe(3)
      await page.getByRole('button', { name: 'Make the pipeline' }).click()
      await page.getByRole('alert').getByText('The service is busy: enough CPU time').waitFor()
      expect(streams).toBe(1)
    })
  })
})

describe.skipIf(!hasBrowser)('a form that is not saved', () => {
  it('is asked about before one signs out, and a yes is not asked for twice', async () => {
    await inConsole(async ({ page, context }) => {
      const other = await context.newPage()
      await other.goto(at('streams'))
      await other.getByRole('heading', { name: 'Streams' }).waitFor()
      const answers = answerOn(page)
      await page.goto(at('start'))
      const records = page.getByLabel('Some records')
      await records.fill('{"kept": 1}')
      await page.getByRole('button', { name: 'Sign out' }).click()
      await eventually('it has asked', async () => answers.asked.length === 1)
      // Stay means that nothing happened, here and in the other tabs.
      expect((await page.request.get(`${service().apiUrl}/v1/session`)).status()).toBe(200)
      expect([await records.inputValue(), await other.getByRole('heading', { name: 'Streams' }).count()]).toEqual(['{"kept": 1}', 1])
      answers.isLeft = true
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
      expect(answers.asked).toEqual(['confirm', 'confirm'])
    })
  })

  it('is left by Back and Forward only where one says so', async () => {
    await inConsole(async ({ page }) => {
      const answers = answerOn(page)
      await page.getByRole('link', { name: 'New pipeline' }).click()
      const records = page.getByLabel('Some records')
      await records.waitFor()
      await page.getByRole('link', { name: 'Any source, chain and sink instead' }).click()
      await page.getByRole('heading', { name: 'New pipeline, in full' }).waitFor()
      await page.goBack()
      await records.fill('{"kept": 1}')
      for (const [times, go] of [page.goForward, page.goBack].entries()) {
        await go.call(page)
        await eventually('it has asked', async () => answers.asked.length === times + 1)
        await eventually('the page is the same', async () => page.url() === at('start'))
        expect(await records.inputValue()).toBe('{"kept": 1}')
      }
      answers.isLeft = true
      await page.goBack()
      await records.waitFor({ state: 'detached' })
      expect(answers.asked).toEqual(['confirm', 'confirm', 'confirm'])
    })
  })

  it('is any that something was typed into', async () => {
    const stream = await createStream(client, { n: 'integer' })
    await inConsole(async ({ page }) => {
      const answers = answerOn(page)
      const typed: [path: string, opens: string, label: string, text: string][] = [
        ['start', '', 'Name', 'others'],
        ['start', '', 'Keep records for which', 'true'],
        ['streams', 'New stream', 'Name', 'others'],
        [`streams/${stream.id}`, 'Write records', 'Records to write', '{"n": 1}'],
        [`streams/${stream.id}`, 'Change the schema', 'Fields of the next schema', '{}'],
      ]
      for (const [index, [path, opens, label, text]] of typed.entries()) {
        await page.goto(at(path))
        if (opens !== '') await page.locator('summary', { hasText: opens }).click()
        await page.getByLabel(label).first().fill(text)
        answers.isLeft = false
        await page.getByRole('link', { name: 'Jobs' }).click()
        await eventually(`${path} has asked about ${label}`, async () => answers.asked.length === index * 2 + 1)
        expect(await page.getByLabel(label).first().inputValue()).toBe(text)
        answers.isLeft = true
        await page.getByRole('link', { name: 'Jobs' }).click()
        await page.getByRole('heading', { name: 'Jobs' }).waitFor()
      }
    })
  })

  it('is left by a link, or by Ctrl-K, only where one says so', async () => {
    const stream = unique('elsewhere')
    await createStream(client, { n: 'integer' }, { name: stream })
    await inConsole(async ({ page }) => {
      const answers = answerOn(page)
      const { asked } = answers
      const goTo = async () => {
        await page.keyboard.press('Control+k')
        await page.getByRole('dialog').getByRole('combobox').fill(stream)
        await page.getByRole('dialog').getByRole('option', { name: stream }).waitFor()
        await page.keyboard.press('Enter')
      }
      await page.goto(at('start'))
      const records = page.getByLabel('Some records')
      await records.fill('{"kept": 1}')
      await page.getByRole('link', { name: 'Streams', exact: true }).click()
      await goTo()
      await eventually('both have asked', async () => asked.length === 2)
      expect([asked.join(), page.url()]).toEqual(['confirm,confirm', at('start')])
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      // What leads nowhere else does not ask.
      await page.getByRole('link', { name: 'To the content' }).press('Enter')
      expect([asked.length, await records.inputValue()]).toEqual([2, '{"kept": 1}'])
      answers.isLeft = true
      await goTo()
      await page.getByRole('heading', { name: stream }).waitFor()
      await page.getByRole('link', { name: 'Streams', exact: true }).click()
      await page.getByRole('heading', { name: 'Streams' }).waitFor()
      expect(asked).toHaveLength(3)
    })
  })

  it('is one only where something differs from what is saved', async () => {
    const id = await stopped(unique('untouched'), [filter(10)])
    await inConsole(async ({ page }) => {
      const answers = answerOn(page)
      const { asked } = answers
      answers.isLeft = true
      await page.goto(at(`pipelines/${id}/change`))
      // Chromium asks only on a page that was clicked or typed on.
      await valueOf(page, 1).click()
      await valueOf(page, 1).fill('100')
      await valueOf(page, 1).fill('10')
      await page.reload()
      await valueOf(page, 1).click()
      expect(asked).toEqual([])
      await valueOf(page, 1).fill('100')
      await page.reload()
      await valueOf(page, 1).waitFor()
      expect(asked).toEqual(['beforeunload'])
      await page.getByRole('link', { name: 'Back to it' }).click()
      await page.getByRole('link', { name: 'Change', exact: true }).waitFor()
      expect(asked).toHaveLength(1)
    })
  })
})
