/** A real browser on the real console: Chromium of the system, which `CHROMIUM` may name. */
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { AxeBuilder } from '@axe-core/playwright'
import { chromium, type Browser, type BrowserContext, type Locator, type Page } from 'playwright-core'
import { afterAll, expect } from 'vitest'
import { eventually, service, unique } from './client.ts'
import { openAccount, signInLink } from './operator.ts'
import { limitMs } from './machine-speed.ts'

const PLACES = [process.env.CHROMIUM ?? '', '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const executablePath = PLACES.find((path) => path !== '' && existsSync(path))

/** False where there is no browser; CI installs one. */
export const hasBrowser = executablePath !== undefined
if (!hasBrowser) process.stdout.write('no Chromium here (CHROMIUM=path names one): the console is not tested in a browser\n')

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: executablePath!, args: ['--no-sandbox', '--disable-dev-shm-usage'], timeout: 180_000 })

export type Tab = {
  page: Page
  context: BrowserContext
  /** What the browser complained about: errors, refusals of the CSP. */
  complaints: string[]
}

export type Look = { theme?: 'light' | 'dark'; width?: number }

/** A browser of its own, without cookies. */
export async function openTab(browser: Browser, { theme = 'light', width = 1440 }: Look = {}): Promise<Tab> {
  const context = await browser.newContext({
    colorScheme: theme,
    viewport: { width, height: 900 },
    reducedMotion: 'reduce',
    permissions: ['clipboard-write', 'clipboard-read'],
  })
  const page = await context.newPage()
  page.setDefaultTimeout(Math.max(60_000, limitMs(20_000)))
  const complaints: string[] = []
  page.on('console', (said) => {
    // A request that is refused or gets no answer is an error to the browser; what the page makes of it is tested.
    if (said.type() === 'error' && !said.text().startsWith('Failed to load resource')) complaints.push(said.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  return { page, context, complaints }
}

/** The address of a link that signs an owner of the account in. */
export async function linkFor(accountId: string, base = service().apiUrl): Promise<string> {
  const { path } = (await signInLink(accountId, `${unique('owner')}@example.com`)) as { path: string }
  return `${base}${path}`
}

/** Signs an owner of the account in; the tab shows its pipelines then. */
export async function signInTo({ page }: Tab, accountId: string, base?: string): Promise<void> {
  await page.goto(await linkFor(accountId, base))
  const button = page.getByRole('button', { name: 'Sign in by the link' })
  await button.click()
  // Over another member's page it is in a dialog, until the page is loaded anew: a look before that is at the other one's.
  await button.waitFor({ state: 'hidden' })
  await page.getByRole('heading', { name: 'Pipelines' }).waitFor()
  // What listens to keys does so once the page is painted; the figures come later than that.
  await page.locator('.figures').waitFor()
}

/**
 * Presses the button until it is done, which `done` is on the page or tells: again where the service is said to be busy, as a person would.
 * Any other refusal is in the error, and what is on the page.
 */
export async function pressUntil(button: Locator, done: Locator | (() => Promise<boolean>)): Promise<void> {
  const page = button.page()
  const isDone = typeof done === 'function' ? done : () => done.first().isVisible()
  await button.click()
  const pressed = async () => {
    if (await isDone()) return true
    const refused = await page.locator('.refused').allInnerTexts()
    if (refused.length === 0) return false
    expect(refused).toEqual([expect.stringContaining('busy')])
    await button.click()
    return false
  }
  await eventually('it is done', pressed, 60_000).catch(async (error: unknown) => {
    throw new Error(`${String(error)}; the page says: ${await page.locator('#main').innerText().catch(String)}`)
  })
}

/** The source in the editor, without what it draws around it. */
export async function codeIn(page: Page): Promise<string> {
  const lines = page.locator('.cm-line')
  await lines.first().waitFor()
  return (await lines.allTextContents()).join('\n')
}

/** Violations of WCAG 2.2 AA on the page, as axe sees them. */
export async function violations(page: Page): Promise<string[]> {
  const found = await new AxeBuilder({ page }).withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']).analyze()
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`)
}

/** Keeps a picture where `SCREENSHOTS` names a folder, to be looked at. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS
  if (!folder) return
  await mkdir(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
}

/** A browser for the tests of a file, which ends with them, and an account of their own. */
export async function useConsole() {
  const { client, account } = await openAccount('enterprise')
  const accountId = account.account_id
  const browser = hasBrowser ? await openBrowser() : undefined
  afterAll(() => browser?.close())
  const newTab = (look?: Look): Promise<Tab> => openTab(browser!, look)

  /** Signed in to the account; fails where the browser complained about anything. */
  async function inConsole(work: (tab: Tab) => Promise<void>): Promise<void> {
    const tab = await newTab()
    try {
      await signInTo(tab, accountId)
      await work(tab)
      expect(tab.complaints).toEqual([])
    } catch (error) {
      process.stdout.write(`the page said: ${await tab.page.locator('#main').innerText().catch(String)}\n`)
      throw error
    } finally {
      await tab.context.close()
    }
  }
  return { client, accountId, newTab, inConsole }
}
