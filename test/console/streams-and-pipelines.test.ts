/** Streams and pipelines as things that people make, change and delete in the console, in a real browser. */
import { describe, expect, it } from 'vitest'
import { codeIn, hasBrowser, signInTo, useConsole } from '../harness/browser.ts'
import { eventually, service, unique } from '../harness/client.ts'
import { createPipeline, createStream, write } from '../harness/pipelines.ts'

const { client, accountId, inConsole, newTab } = await useConsole()
const at = (path: string) => `${service().apiUrl}/console/${path}`
const streamNames = async () =>
  (await client.call<{ streams: { name: string }[] }>('GET', '/v1/streams?page_size=100&sort=-created_at')).body.streams.map(
    ({ name }) => name,
  )

describe.skipIf(!hasBrowser)('a stream', () => {
  it('is made, followed with each record once and every digit, and deleted', async () => {
    const name = unique('made-here')
    await inConsole(async ({ page }) => {
      await page.goto(at('streams'))
      await page.getByText('New stream', { exact: true }).click()
      await page.getByLabel('Name', { exact: true }).fill(name)
      await page.getByLabel(/^Fields/).fill('{"n": "number"}')
      await page.getByRole('button', { name: 'Make the stream' }).click()
      await page.getByRole('heading', { name }).waitFor()
      const id = page.url().split('/').at(-1)!
      await write(client, id, [{ n: 1 }, { n: 2 }, { n: 3 }])
      const rows = page.getByRole('region', { name: 'Records as they come' }).locator('tbody tr')
      await page.getByRole('button', { name: 'Follow' }).click()
      await eventually('all are there', async () => (await rows.count()) === 3)
      await page.getByRole('button', { name: 'Freeze' }).click()
      await write(client, id, [{ n: 4 }])
      await page.getByRole('button', { name: 'Go on' }).click()
      await eventually('the new one is there too', async () => (await rows.count()) === 4)
      await page.getByRole('button', { name: 'Stop' }).click()
      await page.getByRole('button', { name: 'Follow' }).click()
      // Beyond 2^53, where JavaScript's own numbers lose digits.
      await client.call('POST', `/v1/streams/${id}/data`, '{"records": [{"n": 12345678901234567891}]}')
      await eventually('and the next', async () => (await rows.count()) === 5)
      expect(await rows.first().innerText()).toContain('12345678901234567891')
      await page.getByRole('button', { name: 'delete', exact: true }).click()
      await page.getByRole('button', { name: 'Yes, delete' }).click()
      await page.getByRole('heading', { name: 'Streams' }).waitFor()
    })
    expect(await streamNames()).not.toContain(name)
  })
})

describe.skipIf(!hasBrowser)('a stream’s records and schema', () => {
  it('are found by key, and what another schema would break is said before it is changed', async () => {
    const fields = { user: 'string', amount: 'number' }
    const stream = await createStream(client, fields, { key: 'user', compatibility: 'NONE' })
    const sink = await createStream(client, { user: 'string', amount: 'any' })
    await write(client, stream.id, [
      { user: 'ada', amount: 1 },
      { user: 'bob', amount: 2 },
      { user: 'ada', amount: 3 },
    ])
    const reader = unique('reader')
    const step = { name: 'dps/filter', config: { field: 'amount', operator: 'gt', value: 1 } }
    await createPipeline(client, stream.id, [step], sink.id, { name: reader })
    await inConsole(async ({ page }) => {
      await page.goto(at(`streams/${stream.id}`))
      await page.getByLabel('with the key').fill('ada')
      await page.getByRole('button', { name: 'Read' }).click()
      const rows = page.getByRole('region', { name: 'Records', exact: true }).locator('tbody tr')
      await eventually('those of the key alone', async () => (await rows.count()) === 2)
      expect(await rows.first().innerText()).toContain('"amount": 3')
      await rows.first().getByRole('button').click()
      const whole = page.getByRole('dialog')
      await whole.getByText('key ada').waitFor()
      expect(await whole.locator('pre').innerText()).toContain('"amount": 3')
      await page.keyboard.press('Escape')
      await page.getByText('Change the schema', { exact: true }).click()
      await page.getByLabel(/^Fields of the next schema/).fill('{"user": "string", "amount": "string"}')
      expect(await page.getByRole('button', { name: 'Change', exact: true }).isEnabled()).toBe(false)
      await page.getByText('See what would break first.').waitFor()
      await page.getByRole('button', { name: 'What would break' }).click()
      await page.getByText('The change is allowed.').waitFor()
      expect(await page.locator('li', { hasText: reader }).first().innerText()).toContain('its config names amount (step 1)')
      await page.getByRole('button', { name: 'Change', exact: true }).click()
      await page.getByText('1 earlier schema').waitFor()
    })
    expect((await client.call('GET', `/v1/streams/${stream.id}`)).body.schema).toEqual({ user: 'string', amount: 'string' })
  })
})

describe.skipIf(!hasBrowser)('a SmartModule’s versions', () => {
  it('are listed with their code and tests, and an earlier one is taken up again', async () => {
    const name = unique('versions')
    const code = (least: number) => `import { Path, Record } from 'dps'
const amount = new Path('amount')
export function filter(record: Record): bool { return record.number(amount) > ${least} }
`
    const tests = [{ title: 'keeps large ones', records: [{ value: { amount: 12.5 } }], out: [{ amount: 12.5 }] }]
    let id = ''
    for (const least of [5, 7]) {
      const { body } = await client.call<{ id: string }>('POST', '/v1/smartmodules', {
        name,
        source: { language: 'typescript', code: code(least) },
        tests,
      })
      id = body.id
    }
    await inConsole(async (tab) => {
      const { page } = tab
      const draft = page.getByText('Your draft, not version 1.0.1.')
      await page.goto(at(`smartmodules/${id}`))
      await page.getByText('Versions and tests', { exact: true }).click()
      await page.getByRole('button', { name: 'Show version 1.0.0' }).click()
      const shown = page.getByRole('region', { name: 'Version 1.0.0' })
      await shown.getByText('> 5').waitFor()
      await shown.getByText('keeps large ones').click()
      expect(await shown.locator('details pre').innerText()).toBe('in   {"amount":12.5}\nout  {"amount":12.5}')
      await shown.getByRole('button', { name: 'Take this code into the editor' }).click()
      await page.getByText('What differs from version 1.0.1').waitFor()
      expect(await codeIn(page)).toContain('> 5')
      expect(await draft.count()).toBe(0)
      // What is opened again is not the version that the page names.
      await page.reload()
      await draft.waitFor()
      expect(await codeIn(page)).toContain('> 5')
      await signInTo(tab, accountId)
      await page.goto(at(`smartmodules/${id}`))
      expect(await codeIn(page)).toContain('> 7')
      expect(await draft.count()).toBe(0)
    })
    await inConsole(async ({ page }) => {
      await page.goto(at(`smartmodules/${id}`))
      await page.getByLabel('Code').press('Control+End')
      await page.keyboard.type('// mine')
      await eventually('it is kept', () => page.evaluate(() => Object.keys(localStorage).some((key) => key.startsWith('dps-draft-'))))
      await page.reload()
      await page.getByText('Your draft, not version 1.0.1.').waitFor()
      await page.getByRole('button', { name: 'discard' }).click()
      await eventually('it is gone', async () => !(await codeIn(page)).includes('mine'))
      expect(await page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith('dps-draft-')))).toEqual([])
      await page.reload()
      expect(await codeIn(page)).toContain('> 7')
      expect(await page.getByText('Your draft').count()).toBe(0)
    })
  })
})

describe.skipIf(!hasBrowser)('a first pipeline that can’t be made', () => {
  it('leaves nothing behind, and is made once its fault is mended', async () => {
    const name = unique('first')
    await inConsole(async ({ page }) => {
      await page.goto(at('start'))
      await page.getByLabel(/^Name/).fill(name)
      await page.getByLabel(/^Some records/).fill('{"id": "a", "amount": 99, "big": 9007199254740993123}')
      await page.getByLabel(/^Keep records/).fill('value.amount >')
      await page.getByRole('button', { name: /^Make/ }).click()
      await page.getByRole('alert').waitFor()
      expect((await streamNames()).filter((each) => each.startsWith(name))).toEqual([])
      await page.getByLabel(/^Some records/).fill('{"id": "a", "amount": 99.5, "big": 9007199254740993123}')
      await page.getByLabel(/^Keep records/).fill('value.amount > 50.0')
      await page.getByRole('button', { name: /^Make/ }).click()
      await page.getByRole('heading', { name: `${name}-pipeline` }).waitFor()
      await page.goto(at('start'))
      await page.getByLabel(/^Name/).fill(name)
      await page.getByRole('button', { name: /^Make/ }).click()
      // Beside its field, too.
      await page.locator('label', { hasText: 'Name' }).getByText('already exists').waitFor()
    })
  })
})

describe.skipIf(!hasBrowser)('the first pipeline', () => {
  it.each([
    ['a field that one record lacks', '{"id": "s1", "amount": 99.5}\n{"id": "s2"}', '1 dead letter'],
    ['a field that is null', '{"id": "q1", "amount": 99, "opt": null}\n{"id": "q2", "amount": 1, "opt": "x"}', '1 filtered'],
    ['arrays, objects and times', '{"amount": 99, "tags": ["a"], "of": {"x": 1}, "at": "2026-11-24T23:55:41.000Z"}', '1 out'],
  ])('is made of what was tried: %s', async (_what, records, outcome) => {
    await inConsole(async ({ page }) => {
      await page.goto(at('start'))
      await page.getByLabel(/^Name/).fill(unique('tried'))
      await page.getByLabel(/^Some records/).fill(records)
      // Enter tries: nothing is made before one says so.
      await page.getByLabel(/^Keep records/).press('Enter')
      await page.getByText(/records?: \d/).waitFor()
      await page.getByRole('button', { name: 'Make the pipeline' }).click()
      await page.locator('.equation').getByText(outcome).waitFor()
    })
  })

  it('is fed by a generator where one asks for it', async () => {
    const name = unique('fed')
    await inConsole(async ({ page }) => {
      await page.goto(at('start'))
      await page.getByLabel(/^Name/).fill(name)
      await page.getByLabel(/10 more a second/).check()
      await page.getByRole('button', { name: 'Make the pipeline' }).click()
      const shown = async () => Number(/(\d+) in/.exec((await page.locator('.equation').textContent()) ?? '')?.[1] ?? 0)
      await eventually('it counts', async () => (await shown()) > 10)
    })
    const { body } = await client.call<{ pipelines: { id: string; name: string }[] }>('GET', '/v1/pipelines?page_size=100&sort=-created_at')
    const made = body.pipelines.filter((each) => each.name.startsWith(name))
    expect(made.map((each) => each.name).toSorted()).toEqual([`${name}-generator`, `${name}-pipeline`])
    for (const { id } of made) await client.call('DELETE', `/v1/pipelines/${id}`)
  })

  it('takes its records from a file, and is tried on them before it is made', async () => {
    await inConsole(async ({ page }) => {
      await page.goto(at('start'))
      const buffer = Buffer.from('{"city": "Wien", "amount": 1}\n{"city": "Graz", "amount": 2}\n')
      await page.getByLabel(/^A file instead/).setInputFiles({ name: 'orders.ndjson', mimeType: 'application/x-ndjson', buffer })
      await eventually('the file is read', async () => (await page.getByLabel(/^Some records/).inputValue()).includes('Graz'))
      await page.getByRole('button', { name: 'a text that begins so' }).click()
      await page.getByRole('button', { name: 'Try it on them' }).click()
      await page.getByText('2 records:').waitFor()
      expect(await page.getByRole('region', { name: 'What became of the records' }).locator('.badge').allTextContents()).toEqual([
        'delivered',
        'filtered',
      ])
    })
  })
})

describe.skipIf(!hasBrowser)('a pipeline that was made to run', () => {
  it('is not offered to be started before it has', async () => {
    const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const id = await createPipeline(client, from.id, [], to.id, { autostart: false })
    await inConsole(async ({ page }) => {
      const start = page.getByRole('button', { name: 'start', exact: true })
      await page.goto(at(`pipelines/${id}`))
      await start.waitFor()
      await page.route('**/v1/pipelines/*/status', async (route) => {
        const answer = await route.fetch()
        await route.fulfill({ response: answer, json: { ...(await answer.json()), desired: 'running' } })
      })
      await start.waitFor({ state: 'detached' })
    })
  })
})

describe.skipIf(!hasBrowser)('the account’s limits', () => {
  it('say what is counted, and what is only bounded', async () => {
    await inConsole(async ({ page }) => {
      await page.goto(at('you'))
      const row = (name: string) => page.getByRole('row', { name }).innerText()
      await page.getByRole('row', { name: 'pushed requests per second' }).waitFor()
      expect(await row('pushed requests per second')).toMatch(/at most [\d,]+/)
      expect(await row('dead letter bytes')).toMatch(/[\d.,]+ \w+\s+of [\d.]+ GiB/)
    })
  })
})

describe.skipIf(!hasBrowser)('a member', () => {
  it('gets another role, and sees times as they like', async () => {
    await inConsole(async ({ page }) => {
      const email = `${unique('viewer')}@example.com`
      await client.call('POST', '/v1/members', { name: 'Vera', email, role: 'viewer' })
      await page.goto(at('access'))
      await page.getByLabel('Role of Vera').selectOption('editor')
      const roleOf = async () =>
        (await client.call<{ members: { email: string; role: string }[] }>('GET', '/v1/members?page_size=100')).body.members.find(
          (member) => member.email === email,
        )?.role
      await eventually('the role is changed', async () => (await roleOf()) === 'editor')
      await page.getByRole('button', { name: 'Times: ago' }).click()
      await page.getByRole('button', { name: 'Times: UTC' }).waitFor()
      await page.reload()
      expect(await page.locator('time').first().innerText()).toMatch(/ UTC$/)
    })
  })
})

describe.skipIf(!hasBrowser)('a viewer', () => {
  it('is offered neither what they may not do nor a screen that they may not see', async () => {
    const { body } = await client.call<{ sign_in_token: string }>('POST', '/v1/members', {
      name: 'Vic',
      email: `${unique('vic')}@example.com`,
      role: 'viewer',
    })
    const { page, context } = await newTab()
    await page.goto(`${at('')}#link=${body.sign_in_token}`)
    await page.getByRole('button', { name: 'Sign in by the link' }).click()
    await page.getByRole('heading', { name: 'Pipelines' }).waitFor()
    await page.goto(at('smartmodules/new'))
    await page.getByRole('combobox', { name: /^Records/ }).waitFor()
    expect(await page.getByRole('button', { name: 'Run', exact: true }).isDisabled()).toBe(true)
    await page.getByText('Your role may look, but not run or deploy code.').waitFor()
    expect(await page.getByRole('button', { name: 'Deploy' }).count()).toBe(0)
    await page.getByRole('button', { name: 'go to…' }).click()
    const place = page.getByLabel('Name of a pipeline, stream or screen')
    await place.fill('Jobs')
    await page.getByRole('option', { name: 'Jobs' }).waitFor()
    for (const hidden of ['Access', 'Audit']) {
      await place.fill(hidden)
      await page.getByText('Nothing has this name.').waitFor()
      await place.fill('')
      await page.getByText('Nothing has this name.').waitFor({ state: 'detached' })
    }
    for (const [path, text] of [
      ['access', 'Your role may not see keys and members'],
      ['audit', 'Your role may not read it'],
    ] as const) {
      await page.goto(at(path))
      await page.getByText(text).waitFor()
      expect(await page.getByText('lacks the scope').count()).toBe(0)
    }
    await context.close()
  })
})

describe.skipIf(!hasBrowser)('a secret', () => {
  it('is kept without the end of its line, gets another value, and is deleted once one has said so twice', async () => {
    const name = unique('secret')
    await inConsole(async ({ page }) => {
      const sent: unknown[] = []
      page.on('request', (request) => {
        if (request.url().includes('/v1/secrets') && request.method() !== 'GET') sent.push([request.method(), request.postDataJSON()])
      })
      await page.goto(at('connectors'))
      await page.getByText('New secret, or another value for one').click()
      for (const [value, button] of [
        ['one', 'Keep it'],
        ['two', 'Replace its value'],
      ] as const) {
        await page.getByLabel(/^Name of the secret/).fill(name)
        await page.getByLabel(/^Value/).fill(`${value}\n`)
        await page.getByRole('button', { name: button }).click()
        await eventually('it is sent', async () => (await page.getByLabel(/^Value/).inputValue()) === '')
      }
      const row = page.getByRole('row', { name })
      await row.getByRole('button', { name: 'delete' }).click()
      await row.getByRole('button', { name: 'Yes, delete' }).click()
      await row.waitFor({ state: 'detached' })
      expect(sent).toEqual([
        ['POST', { name, value: 'one' }],
        ['PATCH', { value: 'two' }],
        ['DELETE', null],
      ])
    })
  })
})

describe.skipIf(!hasBrowser)('a pipeline whose connectors are named', () => {
  it('is changed like any other, and deleted', async () => {
    const [from, to] = [unique('named-from'), unique('named-to')]
    const source = await createStream(client, { n: 'integer' }, { name: from })
    const sink = await createStream(client, { n: 'integer' }, { name: to })
    const id = await createPipeline(client, source.id, [], sink.id)
    const named = unique('named')
    const { body } = await client.call<{ pipeline_id: string }>('POST', '/v1/pipelines', {
      name: named,
      source: { connector_id: 'stream', config: { stream_id: source.id } },
      processors: [],
      sink: { connector_id: 'stream', config: { stream_id: sink.id } },
    })
    await inConsole(async ({ page }) => {
      for (const pipeline of [id, body.pipeline_id]) {
        await page.goto(at(`pipelines/${pipeline}/change`))
        for (const [side, stream] of [
          ['Source', from],
          ['Sink', to],
        ] as const) {
          const group = page.getByRole('group', { name: side })
          await eventually(
            'the stream is chosen',
            async () =>
              (await group
                .getByLabel(/^Stream/)
                .locator('option:checked')
                .innerText()) === stream,
          )
          expect(
            await group
              .getByLabel(/^(?:Read from|Write to)/)
              .locator('option:checked')
              .innerText(),
          ).toBe('stream')
        }
      }
      await page.goto(at(`pipelines/${body.pipeline_id}`))
      await page.getByRole('button', { name: 'delete', exact: true }).click()
      await page.getByRole('button', { name: 'Yes, delete' }).click()
      await page.getByRole('heading', { name: 'Pipelines' }).waitFor()
    })
    await eventually('it is gone', async () => (await client.call('GET', `/v1/pipelines/${body.pipeline_id}`)).status === 404)
  })
})
