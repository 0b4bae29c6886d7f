/** Whether all of an account can be found in the console, however much it is. */
import { beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser, picture, signInTo, useConsole } from '../harness/browser.ts'
import { eventually, service, unique } from '../harness/client.ts'
import { createPipeline, createStream, write } from '../harness/pipelines.ts'

/** More than a page of the API holds. */
const STREAMS = 104
const AT_ONCE = 8
const SCHEMA = { n: 'integer' }

const { client, accountId, inConsole, newTab } = await useConsole()
const last = unique('zz-last')
beforeAll(async () => {
  if (!hasBrowser) return
  const names = Array.from({ length: STREAMS }, (_, n) => unique(`many-${n}`))
  for (let from = 0; from < STREAMS; from += AT_ONCE)
    await Promise.all(names.slice(from, from + AT_ONCE).map((name) => createStream(client, SCHEMA, { name, partitions: 1 })))
})

const at = (path: string) => `${service().apiUrl}/console/${path}`

describe.skipIf(!hasBrowser)('with more than a hundred streams', () => {
  it('the last one is gone to, chosen, and shown by its name', async () => {
    const { id } = await createStream(client, SCHEMA, { name: last, partitions: 1 })
    const pipeline = await createPipeline(client, id, [], (await createStream(client, SCHEMA)).id, { autostart: false })
    await inConsole(async ({ page }) => {
      await page.goto(at('pipelines/new'))
      await page
        .getByRole('group', { name: 'Source' })
        .getByLabel(/^Stream/)
        .selectOption({ label: last })
      await page.goto(at(`pipelines/${pipeline}/change`))
      await page.locator('option:checked', { hasText: last }).waitFor({ state: 'attached' })
      await page.goto(at('smartmodules/new'))
      await page.getByRole('combobox', { name: /^Records/ }).selectOption({ label: last })
      await page.keyboard.press('Control+k')
      await page.getByRole('dialog').getByRole('combobox').fill(last)
      await page.getByRole('dialog').getByRole('option', { name: last }).waitFor()
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: last }).waitFor()
    })
  })
})

describe.skipIf(!hasBrowser)('the list of streams', () => {
  it('is searched by a part of a name, in the order that people count in', async () => {
    await inConsole(async ({ page }) => {
      await page.goto(at('streams'))
      await page.getByRole('searchbox', { name: 'Filter by name' }).fill('MANY-')
      const rows = page.getByRole('region', { name: 'Streams' }).locator('tbody th')
      await eventually('all are there', async () => (await rows.count()) === STREAMS)
      const numbers = (await rows.allInnerTexts()).map((name) => Number(/many-(\d+)/.exec(name)![1]))
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
    })
  })
})

describe.skipIf(!hasBrowser)('a list that is gone through by j and k', () => {
  it('is gone on with at the same row after Back', async () => {
    await inConsole(async ({ page }) => {
      await page.goto(at('streams'))
      const rows = page.getByRole('region', { name: 'Streams' }).locator('tbody th a')
      await eventually('some are there', async () => (await rows.count()) > 5)
      const names = await rows.allInnerTexts()
      const focused = () => page.evaluate(() => (document.activeElement as HTMLElement).innerText)
      for (const name of names.slice(0, 3)) {
        await page.keyboard.press('j')
        expect(await focused()).toBe(name)
      }
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: names[2]! }).waitFor()
      await page.goBack()
      await eventually('the list is there', async () => (await rows.count()) > 5)
      await page.keyboard.press('j')
      expect(await focused()).toBe(names[3])
    })
  })
})

describe.skipIf(!hasBrowser)('the audit log', () => {
  it('names who did it, and to what', async () => {
    const name = unique('audited')
    await createStream(client, SCHEMA, { name, partitions: 1 })
    await inConsole(async ({ page }) => {
      await page.goto(at('audit'))
      const row = page.locator('tbody tr', { hasText: 'create stream' }).first()
      await row.getByText(name, { exact: true }).waitFor()
      await eventually('who did it is named', async () => !/key_|st_/.test(await row.innerText()))
      await page.getByRole('combobox', { name: 'Of', exact: true }).selectOption({ label: name })
      const rows = page.locator('tbody tr')
      await eventually('one is left', async () => (await rows.count()) === 1 && (await rows.first().innerText()).includes(name))
      await page.getByRole('combobox', { name: 'What', exact: true }).selectOption('deleteStream')
      await page.getByText('There is nothing like that.').waitFor()
      expect(page.url()).toContain('operation=deleteStream')
    })
  })
})

describe.skipIf(!hasBrowser)('a long name', () => {
  it('takes no room from the other columns', async () => {
    const name = unique('L'.repeat(90))
    const [from, to] = [await createStream(client, SCHEMA, { name }), await createStream(client, SCHEMA)]
    await createPipeline(client, from.id, [], to.id, { autostart: false, name: unique('P'.repeat(90)) })
    await inConsole(async ({ page }) => {
      for (const [path, label] of [
        ['', 'Pipelines'],
        ['audit', 'Audit log'],
        ['streams', 'Streams'],
      ] as const) {
        await page.goto(at(path))
        const table = page.getByRole('region', { name: label, exact: true })
        await table
          .getByText(/^[LP]{90}/)
          .first()
          .waitFor()
        expect([path, await table.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)]).toEqual([path, 0])
        await picture(page, `long-names-${path}`)
      }
    })
  })
})

describe.skipIf(!hasBrowser)('the members of an account, on a narrow screen', () => {
  it('have their roles in sight beside what can be done', async () => {
    const tab = await newTab({ width: 320 })
    await signInTo(tab, accountId)
    await tab.page.goto(at('access'))
    const row = tab.page.getByRole('region', { name: 'Members' }).locator('tbody tr').first()
    await row.waitFor()
    await picture(tab.page, 'access-narrow')
    const [role, buttons] = [await row.locator('select').boundingBox(), await row.locator('td:last-child').boundingBox()]
    expect([role!.x >= 0, role!.x + role!.width <= 320]).toEqual([true, true])
    // Beside them, or above them.
    expect(role!.x + role!.width <= buttons!.x || role!.y + role!.height <= buttons!.y).toBe(true)
    await tab.context.close()
  })
})

describe.skipIf(!hasBrowser)('records of a stream', () => {
  it('are paged in both directions, the newest first', async () => {
    const stream = await createStream(client, { n: 'integer' }, { partitions: 2 })
    await write(
      client,
      stream.id,
      Array.from({ length: 120 }, (_, n) => ({ n })),
    )
    await inConsole(async ({ page }) => {
      await page.goto(at(`streams/${stream.id}`))
      const places = page.getByRole('region', { name: 'Records', exact: true }).locator('tbody th')
      const shown: string[] = []
      for (const count of [50, 50, 20]) {
        await eventually(`a page of ${count}`, async () => {
          const now = await places.allInnerTexts()
          return now.length === count && !shown.includes(now[0]!)
        })
        shown.push(...(await places.allInnerTexts()))
        if (count === 50) await page.getByRole('link', { name: '← older' }).click()
      }
      expect(new Set(shown).size).toBe(120)
      expect(await page.getByRole('link', { name: '← older' }).count()).toBe(0)
      await page.getByRole('link', { name: 'newer →' }).click()
      await eventually('the page before', async () => (await places.allInnerTexts()).join() === shown.slice(50, 100).join())
    })
  })

  it('are read from a time, which is typed as times are shown, and stays in its field', async () => {
    const stream = await createStream(client, { n: 'integer' }, { partitions: 2 })
    await write(client, stream.id, [{ n: 1 }])
    await write(client, stream.id, [{ n: 2 }])
    await inConsole(async ({ page }) => {
      await page.goto(at(`streams/${stream.id}`))
      await page.getByRole('button', { name: 'Times: ago' }).click()
      const time = page.getByLabel('or from (UTC)')
      await time.fill('2020-01-02T03:04:05')
      for (let turn = 0; turn < 2; turn++) {
        await page.getByRole('button', { name: 'Read', exact: true }).click()
        await page.waitForURL(/timestamp=2020-01-02T03%3A04%3A05.000Z/)
        expect(await time.inputValue()).toBe('2020-01-02T03:04:05')
      }
      const values = page.getByRole('region', { name: 'Records', exact: true }).locator('tbody td.value')
      await eventually('the oldest come first', async () => (await values.allInnerTexts()).join() === '{ "n": 1 },{ "n": 2 }')
      await page.getByLabel('From offset').fill('0')
      await time.fill('')
      await page.getByRole('button', { name: 'Read', exact: true }).click()
      await page.getByText('Each partition has offsets of its own: these are those of partition 0.').waitFor()
      // The partition stays chosen, also over a reload.
      const partition = page.getByRole('combobox', { name: 'Partition' })
      expect(await partition.inputValue()).toBe('0')
      await partition.selectOption('1')
      await page.getByRole('button', { name: 'Read', exact: true }).click()
      await page.getByText('these are those of partition 1.').waitFor()
      await page.reload()
      await page.getByText('these are those of partition 1.').waitFor()
      expect(await partition.inputValue()).toBe('1')
      await page.getByRole('button', { name: 'Read', exact: true }).click()
      await page.waitForURL(/partition=1/)
    })
  })
})

describe.skipIf(!hasBrowser)('a record that turns its text around', () => {
  it('is shown with all its characters in their order', async () => {
    const stream = await createStream(client, { who: 'string' }, { partitions: 1 })
    await write(client, stream.id, [{ who: '\u202Eevil 🍕' }])
    await inConsole(async ({ page }) => {
      await page.goto(at(`streams/${stream.id}`))
      const shown = String.raw`{ "who": "\u202eevil 🍕" }`
      await page.getByRole('cell', { name: shown, exact: true }).waitFor()
      await page.getByRole('button', { name: '0:0' }).click()
      const all = page.getByRole('dialog').locator('pre')
      await eventually('all of it is shown', async () => (await all.innerText()).replaceAll(/\s/g, '') === shown.replaceAll(/\s/g, ''))
    })
  })
})

describe.skipIf(!hasBrowser)('Escape', () => {
  it('goes up where nothing else takes it, and asks before what is not saved is left', async () => {
    const stream = await createStream(client, { n: 'integer' }, { partitions: 1 })
    await inConsole(async ({ page }) => {
      await page.goto(at(`streams/${stream.id}`))
      const title = page.getByRole('heading', { name: 'As they come' })
      await title.waitFor()
      await page.keyboard.press('Control+k')
      await page.getByRole('dialog').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await page.getByLabel('From offset').focus()
      await page.keyboard.press('Escape')
      expect(page.url()).toContain(stream.id)
      await page.locator('summary', { hasText: /write/i }).click()
      await page.getByLabel('Records to write').fill('{"n":1}')
      await title.click()
      page.once('dialog', (asked) => void asked.dismiss())
      await page.keyboard.press('Escape')
      expect(page.url()).toContain(stream.id)
      page.once('dialog', (asked) => void asked.accept())
      await page.keyboard.press('Escape')
      await page.getByRole('heading', { name: 'Streams' }).waitFor()
      await page.keyboard.press('Escape')
      expect(page.url()).toMatch(/streams$/)
    })
  })
})

describe.skipIf(!hasBrowser)('Ctrl-K', () => {
  it('opens again, however it was closed', async () => {
    await inConsole(async ({ page }) => {
      const dialog = page.getByRole('dialog', { name: 'Go to' })
      for (let turn = 0; turn < 3; turn++) {
        await page.keyboard.press('Control+k')
        await dialog.waitFor()
        await page.keyboard.type('new')
        // Once, though something is typed.
        await page.keyboard.press('Escape')
        await dialog.waitFor({ state: 'detached' })
      }
      await page.keyboard.press('Control+k')
      await page.keyboard.press('Control+k')
      await dialog.getByRole('button', { name: 'Close' }).click()
      await dialog.waitFor({ state: 'detached' })
      await page.keyboard.press('Control+k')
      await page.getByRole('dialog').getByRole('combobox').fill('new pipeline')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'New pipeline' }).waitFor()
      await eventually('it is closed', async () => (await page.locator('dialog').count()) === 0)
      await eventually('the heading has the focus', () => page.evaluate(() => document.activeElement?.tagName === 'H1'))
    })
  })
})
