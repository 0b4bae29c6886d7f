/** What people do in the console, in a real browser: from signing in to a record that failed, was mended and proven. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import kafkajs from 'kafkajs'
import { describe, expect, it } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { frame } from '../../shared/model/framing.ts'
import { hasBrowser, linkFor, pressUntil, useConsole } from '../harness/browser.ts'
import { eventually, loggedIn, patiently, service, unique } from '../harness/client.ts'
import { createPipeline, createStream, waitForStatus, waitForTotal, write } from '../harness/pipelines.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { exactProducer } from '../harness/exact-producer.ts'

const { client, accountId, inConsole, newTab } = await useConsole()

/** Runs commands as a shell does, and returns the variables that they set. */
async function runShown(commands: string): Promise<Record<string, string>> {
  // As jq takes the id; not every machine has it.
  const jq = `jq() { node -e 'process.stdout.write(JSON.parse(require("node:fs").readFileSync(0)).id)'; }`
  const env = { ...process.env, URL: service().apiUrl, TOKEN: client.token }
  const { stdout } = await promisify(execFile)('bash', ['-c', `set -eu\n${jq}\n${commands}\nset`], { env, timeout: limitMs(60_000) })
  return Object.fromEntries([...stdout.matchAll(/^([A-Z]+)=(.*)$/gm)].map(([, name, value]) => [name!, value!]))
}

describe.skipIf(!hasBrowser)('signing in', () => {
  it('takes a link once, keeps it out of the history, and ends when one signs out', async () => {
    const link = await linkFor(accountId)
    const { page, context } = await newTab()
    await page.goto(link)
    // Another site may have led here: a click is needed.
    await page.getByRole('button', { name: 'Sign in by the link' }).click()
    await page.getByRole('heading', { name: 'Pipelines' }).waitFor()
    expect(page.url()).not.toContain('link=')
    await page.reload()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.goto('about:blank')
    await page.goto(link)
    await page.getByRole('button', { name: 'Sign in by the link' }).click()
    await page.getByText('the link was used already').waitFor()
    await context.close()
  })

  it('works with a password, once one is set', async () => {
    const { page, context } = await newTab()
    const { body } = await client.call<{ sign_in_token: string; email: string }>('POST', '/v1/members', {
      name: 'Ada',
      email: `${unique('ada')}@example.com`,
      role: 'editor',
    })
    await page.goto(`${service().apiUrl}/console/#link=${body.sign_in_token}`)
    await page.getByRole('button', { name: 'Sign in by the link' }).click()
    await page.getByRole('link', { name: /Ada/ }).click()
    await page.getByLabel('New password').fill('correct horse battery')
    await page.getByRole('button', { name: 'Set the password' }).click()
    await page.getByText('It is set.').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
    await page.getByLabel('E-mail address').fill(body.email)
    await page.getByLabel('Password').fill('wrong horse battery')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('the address or password is wrong').waitFor()
    await page.getByLabel('Password').fill('correct horse battery')
    await page.keyboard.press('Enter')
    // Where one was when one signed out.
    await page.getByRole('heading', { name: 'Ada' }).waitFor()
    // What is typed outlives the session.
    await page.goto(`${service().apiUrl}/console/start`)
    await page.getByLabel(/^Name/).fill('typed-before')
    await context.clearCookies()
    // The dialog may be over it already.
    await page.getByRole('button', { name: 'Make the pipeline' }).dispatchEvent('click')
    const again = page.getByRole('dialog', { name: 'Your session has ended' })
    // Closed, to look at what was typed, and opened again.
    await again.getByRole('button', { name: 'Close' }).click()
    await again.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Sign in' }).click()
    await again.getByLabel('Password').fill('correct horse battery')
    await page.keyboard.press('Enter')
    await again.waitFor({ state: 'detached' })
    expect(await page.getByLabel(/^Name/).inputValue()).toBe('typed-before')
    // Editors don't manage access.
    expect(await page.getByRole('link', { name: 'Access' }).count()).toBe(0)
    await context.close()
  })
})

describe.skipIf(!hasBrowser)('the first pipeline', () => {
  it('is made from a few lines of JSON, and counts', async () => {
    await inConsole(async ({ page }) => {
      await page
        .getByRole('link', { name: /New pipeline|Make the first one/ })
        .first()
        .click()
      await page.getByLabel(/^Name/).fill(unique('first'))
      await page.getByRole('button', { name: 'Make the pipeline' }).click()
      await page.locator('.equation').getByText('3 in').waitFor()
      await page.locator('.equation').getByText('2 out').waitFor()
      await page.locator('.equation').getByText('1 filtered').waitFor()
      // The hour's curves have axes: the largest value with its unit, and the times at both ends.
      const rates = page.getByRole('region', { name: 'The last hour' }).locator('figure').first()
      await rates.getByText(/^0\.\d\/s$/).waitFor()
      expect(await rates.locator('time').first().innerText()).toBe('1 h ago')
    })
  })

  it('has a name that is free from the start', async () => {
    for (const name of ['orders', 'orders-2-filtered']) await createStream(client, { id: 'string' }, { name })
    await inConsole(async ({ page }) => {
      await page.goto(`${service().apiUrl}/console/start`)
      await eventually('the name is free', async () => (await page.getByLabel(/^Name/).inputValue()) === 'orders-3')
      await page.getByRole('button', { name: 'Make the pipeline' }).click()
      await page.getByRole('heading', { name: 'orders-3-pipeline' }).waitFor()
    })
  })

  it('is shown as curl and as a manifest, which make the same', async () => {
    await inConsole(async ({ page }) => {
      await page.goto(`${service().apiUrl}/console/start`)
      const name = unique('shown')
      await page.getByLabel(/^Name/).fill(name)
      await page.getByText('The same as curl').click()
      const shown = page.locator('.same-as pre')
      const made = await runShown(await shown.innerText())
      await waitForTotal(client, made.SINK!, 2)
      // What is there already is what the manifest asks for.
      await page.getByRole('button', { name: 'YAML', exact: true }).click()
      const manifest: unknown = parseYaml(await shown.innerText())
      const { status, body } = await client.call<{ changes: { differences: { path: string }[] }[] }>('POST', '/v1/manifests/plan', {
        manifest,
      })
      expect([status, body.changes.length]).toEqual([200, 3])
      expect(body.changes.flatMap(({ differences }) => differences)).toEqual([])
    })
  })

  it('says which line is no JSON', async () => {
    await inConsole(async ({ page }) => {
      await page.goto(`${service().apiUrl}/console/start`)
      await page.getByLabel('Some records').fill('{"a": 1}\n{"a": ')
      await page.getByRole('button', { name: 'Make the pipeline' }).click()
      await page.getByText('line 2 is not a JSON object').waitFor()
    })
  })
})

describe.skipIf(!hasBrowser)('lineage', () => {
  it('shows what flows where, and leads there', async () => {
    const between = unique('between')
    const [from, middle] = [await createStream(client, { id: 'string' }), await createStream(client, { id: 'string' }, { name: between })]
    const name = unique('flows-on')
    await createPipeline(client, from.id, [{ name: 'dps/filter', config: { field: 'id', operator: 'exists' } }], middle.id, {
      name,
      autostart: false,
    })
    const outside = await client.call('POST', '/v1/pipelines', {
      name: unique('flows-out'),
      source: { connector_id: 'stream', config: { stream_id: middle.id } },
      // Postgres refuses to take anything out of JSON that holds this.
      processors: [{ module_id: 'dps/filter', config: { field: 'id', operator: 'ne', value: '\u0000' } }],
      sink: { connector_id: 'log', config: {} },
      autostart: false,
    })
    expect(outside.status).toBe(201)
    await inConsole(async ({ page }) => {
      await page.getByRole('link', { name: 'Lineage' }).click()
      await page.getByRole('searchbox').fill(name)
      const table = page.getByRole('region', { name: 'Pipelines and what they connect' })
      // Two pipelines in a row, and nothing of the account's others.
      await table.locator('tbody tr').nth(1).waitFor()
      expect(await table.locator('tbody tr').count()).toBe(2)
      expect(await page.locator('svg.lineage rect').count()).toBe(3)
      await table.getByRole('link', { name: between }).first().click()
      await page.getByText('written by').waitFor()
      await page.getByRole('link', { name, exact: true }).click()
      await page.getByRole('heading', { name }).waitFor()
    })
  })
})

describe.skipIf(!hasBrowser)('with a browser alone', () => {
  it('a pipeline is made, broken by a bad record, mended and proven, within two minutes', async () => {
    const from = performance.now()
    await inConsole(async ({ page }) => {
      const name = unique('trial')
      await page
        .getByRole('link', { name: /New pipeline|Make the first one/ })
        .first()
        .click()
      await page.getByLabel(/^Name/).fill(name)
      await page.getByLabel('Some records').fill('{"id": "a", "price": 10, "parts": 2}')
      await page.getByLabel('Keep records for which').fill('value.price / value.parts > 1')
      await page.getByRole('button', { name: 'Make the pipeline' }).click()
      await page.locator('.equation').getByText('1 out').waitFor()
      // The chain's first card leads to the source.
      await page.locator('.chain a').first().click()
      await page.locator('summary', { hasText: 'Write records' }).click()
      await page.getByLabel('Records to write').fill('{"id": "b", "price": 10, "parts": 0}')
      await page.getByRole('button', { name: 'Write', exact: true }).click()
      await page.getByText('1 written').waitFor()
      await page.goBack()
      await page.locator('.figure', { hasText: 'dead letters' }).getByRole('link', { name: 'Dead letters: 1' }).click()
      await page.locator('.groups a').first().click()
      await page
        .locator('.fix')
        .getByLabel(/^Filter/)
        .fill('value.parts == 0 || value.price / value.parts > 1')
      await pressUntil(page.getByRole('button', { name: /Try on 1/ }), page.locator('.fix td .badge.good'))
      const save = page.getByRole('button', { name: 'Save as the next revision' })
      // The button is disabled from the click on: what is saved is known from the API alone.
      await pressUntil(save, async () => {
        const { body } = await client.call<{ pipelines: { name: string; revision: number }[] }>(
          'GET',
          '/v1/pipelines?page_size=100&sort=-created_at',
        )
        return body.pipelines.some((each) => each.name === `${name}-pipeline` && each.revision === 2)
      })
      await page.getByText('Saved as revision 2').waitFor()
      // The form is reset with the revision: trial results disappear, and the buttons below move up.
      await page.locator('.fix td .badge').waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Count what a redrive takes' }).click()
      await page.getByRole('button', { name: 'Redrive 1' }).click()
      // The list of redrives says so, too, a moment later.
      await page.locator('.progress').getByText('1 of 1 delivered').waitFor()
      await page.getByRole('link', { name: 'Pipeline', exact: true }).click()
      // Two counts, and since when each is.
      await page.locator('.chain').getByText('since revision 2').waitFor()
      expect(await page.locator('.equation').textContent()).toMatch(/Since the pipeline was made:\s*2 in/)
      await page.getByRole('button', { name: 'Show the newest' }).click()
      await page.getByRole('region', { name: 'Newest records' }).getByRole('link').first().click()
      await page.getByText('handled by revision').waitFor()
    })
    expect(performance.now() - from).toBeLessThan(limitMs(120_000))
  })
})

describe.skipIf(!hasBrowser)('a record that fails', () => {
  it('is found in its group, mended on itself, redriven and explained', async () => {
    const [from, to] = [
      await createStream(client, { id: 'string', sum: 'integer', count: 'integer' }, { partitions: 1 }),
      await createStream(client, { id: 'string', sum: 'integer', count: 'integer', mean: 'integer' }),
    ]
    const id = await createPipeline(client, from.id, [{ name: 'dps/cel', config: { set: { mean: 'value.sum / value.count' } } }], to.id)
    await waitForStatus(client, id, 'running')
    await write(client, from.id, [
      { id: 'a', sum: 9, count: 3 },
      { id: 'b', sum: 1, count: 0 },
      { id: 'c', sum: 2, count: 0 },
    ])
    await eventually('both are dead letters', async () => {
      const { body } = await client.call<{ total: number }>('GET', `/v1/pipelines/${id}/dead-letters`)
      return body.total === 2
    })
    // As it is, a redrive gets neither through.
    const { body: early } = await patiently(() => client.call<{ id: string }>('POST', `/v1/pipelines/${id}/dead-letters/redrive`, {}))
    await eventually('the first redrive has ended', async () => {
      const { body } = await client.call<{ status: string }>('GET', `/v1/jobs/${early.id}`)
      return body.status === 'finished'
    })
    await inConsole(async ({ page }) => {
      await page.goto(`${service().apiUrl}/console/pipelines/${id}/dead-letters`)
      await page.locator('.groups a').first().click()
      // As it is, they fail again.
      await pressUntil(page.getByRole('button', { name: /Try on 2/ }), page.getByText('dead letter', { exact: true }))
      await page.locator('.fix').getByLabel('Set: value 1').fill('value.count == 0 ? 0 : value.sum / value.count')
      const delivered = async () => (await page.locator('.fix td .badge.good').count()) === 2
      await pressUntil(page.getByRole('button', { name: /Try on 2/ }), delivered)
      const withoutIt = page.getByText('It goes through revision 1, without the change.')
      await withoutIt.waitFor()
      await page.getByRole('button', { name: 'Save as the next revision' }).click()
      await withoutIt.waitFor({ state: 'detached' })
      await eventually('the pipeline runs the change', async () => {
        const { body } = await client.call<{ tasks: { revision: number }[] }>('GET', `/v1/pipelines/${id}/status`)
        return body.tasks.length > 0 && body.tasks.every(({ revision }) => revision === 2)
      })
      await page.locator('.fix td .badge').first().waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Count what a redrive takes' }).click()
      await page.getByRole('button', { name: 'Redrive 2' }).waitFor()
      await page.locator('summary', { hasText: 'The same as curl or dps' }).last().click()
      await page.getByRole('button', { name: 'dps', exact: true }).last().click()
      await page.getByText(/dps dlq redrive --step='1' --module='dps\/cel@1\.0\.0' --error='record_failed' .*--wait '/).waitFor()
      await page.getByRole('button', { name: 'Redrive 2' }).click()
      await page.locator('.progress').getByText('2 of 2 delivered').waitFor()
      await page.goto(`${service().apiUrl}/console/pipelines/${id}/records/0/0`)
      await page.getByRole('heading', { name: 'As it came' }).waitFor()
      const difference = page.locator('.difference tr', { hasText: 'mean' })
      expect(await difference.locator('.is').textContent()).toBe('3')
      // One that was redriven is shown as delivered, and its dead letter is still to be seen.
      await page.goto(`${service().apiUrl}/console/pipelines/${id}/records/0/1`)
      await page.getByRole('heading', { name: 'Redriven by revision 1 dead letter' }).waitFor()
      await page.getByRole('heading', { name: 'Redriven by revision 2 delivered' }).waitFor()
      expect(await page.getByText('Nothing was delivered').count()).toBe(0)
      expect(await page.getByText('divide by zero').count()).toBe(1)
      await page.getByRole('link', { name: 'a dead letter' }).click()
      await page.getByRole('region', { name: 'Redriven' }).getByText('2 of 2 delivered').waitFor()
      await page.getByRole('region', { name: 'Redriven records' }).getByRole('link', { name: '0:1' }).waitFor()
    })
  })
})

describe.skipIf(!hasBrowser)('a revision', () => {
  it('has what it handled run again', async () => {
    const [from, to] = [await createStream(client, { n: 'integer' }, { partitions: 1 }), await createStream(client, { n: 'integer' })]
    const id = await createPipeline(client, from.id, [], to.id)
    await waitForStatus(client, id, 'running')
    await write(client, from.id, [{ n: 1 }, { n: 2 }, { n: 3 }])
    await waitForTotal(client, to.id, 3)
    await inConsole(async ({ page }) => {
      await page.keyboard.press('Control+k')
      const { body } = await client.call<{ name: string }>('GET', `/v1/pipelines/${id}`)
      await page.getByRole('combobox').fill(body.name)
      await page.getByRole('option', { name: body.name }).waitFor()
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: body.name }).waitFor()
      await page.getByRole('button', { name: 'replay what it handled' }).click()
      await page.getByRole('button', { name: 'Yes, run 3 offsets again' }).click()
      await page.getByText('3 of 3 delivered').waitFor()
    })
    await waitForTotal(client, to.id, 6)
  })
})

describe.skipIf(!hasBrowser)('numbers', () => {
  it('beyond 2^53 are shown with all their digits', async () => {
    const [from, to] = [await createStream(client, { n: 'integer' }, { partitions: 1 }), await createStream(client, { n: 'integer' })]
    const id = await createPipeline(client, from.id, [], to.id)
    await waitForStatus(client, id, 'running')
    // Over HTTP a JSON stream takes no integer that a double can't hold; a producer of Kafka may write it.
    const schemaId = (await client.call<{ schema_id: number }>('GET', `/v1/streams/${from.id}`)).body.schema_id
    const kafka = new kafkajs.Kafka({ brokers: service().brokers, logLevel: kafkajs.logLevel.NOTHING })
    const producer = exactProducer(kafka)
    await producer.connect()
    await producer.send({ topic: from.topic, messages: [{ value: frame(schemaId, '{"n":9007199254740993}') }] })
    await producer.disconnect()
    await inConsole(async ({ page }) => {
      await page.goto(`${service().apiUrl}/console/pipelines/${id}`)
      await page.getByRole('button', { name: 'Show the newest' }).click()
      await page.getByText('9007199254740993').waitFor()
      await page.getByRole('link', { name: '0:0' }).click()
      await page.getByText('9007199254740993').first().waitFor()
      await page.goto(`${service().apiUrl}/console/streams/${from.id}`)
      await page.getByText('9007199254740993').first().waitFor()
    })
  })

  it('with more digits than a double has are written and shown with all of them, in the form they were written in', async () => {
    const stream = await createStream(client, { price: 'number', tax: 'number' }, { partitions: 1 })
    const text = '{"price":12345678901234567.123456789,"tax":12.50}'
    await inConsole(async ({ page }) => {
      await page.goto(`${service().apiUrl}/console/streams/${stream.id}`)
      await page.getByText('Write records', { exact: true }).click()
      await page.getByLabel(/^Records to write/).fill(text)
      await page.getByRole('button', { name: 'Write', exact: true }).click()
      await page
        .getByRole('region', { name: 'Records', exact: true })
        .getByText('{ "price": 12345678901234567.123456789, "tax": 12.50 }')
        .waitFor()
    })
    const headers = { Authorization: `Bearer ${client.token}` }
    const stored = await fetch(`${service().apiUrl}/v1/streams/${stream.id}/data`, { headers })
    expect(await stored.text()).toContain(text)
  })
})

describe.skipIf(!hasBrowser)('keys', () => {
  it('are made with the chosen scopes, shown once, and revoked', async () => {
    await inConsole(async ({ page }) => {
      await page.getByRole('link', { name: 'Access' }).click()
      await page.locator('summary', { hasText: 'New key' }).click()
      const name = unique('console')
      await page.getByLabel('Name of the new key').fill(name)
      await page.getByText('Choose what it may do first.').waitFor()
      await page.getByLabel('streams:read').check()
      await page.getByRole('button', { name: 'Make the key' }).click()
      await page.getByRole('dialog').locator('code').first().waitFor()
      const [api_key, api_secret] = await page.getByRole('dialog').locator('code').allTextContents()
      const keyed = await loggedIn({ api_key: api_key!, api_secret: api_secret! })
      expect((await keyed.call('GET', '/v1/streams')).status).toBe(200)
      expect((await keyed.call('GET', '/v1/pipelines')).status).toBe(403)
      await page.keyboard.press('Escape')
      await page.getByText(api_secret!).waitFor({ state: 'detached' })
      const row = page.locator('tr', { hasText: name })
      await row.getByRole('button', { name: 'revoke' }).click()
      await row.getByRole('button', { name: 'Yes, revoke' }).click()
      await eventually('the key is gone', async () => (await page.locator('tr', { hasText: name }).count()) === 0)
    })
  })
})
