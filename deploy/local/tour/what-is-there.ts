/** What a start on kept data prints instead of the tour: what earlier starts have created. */
import type { Key } from '../launcher.ts'
import { openApi } from './api.ts'

type Named = { name: string; status?: string; id?: string; pipeline_id?: string }

const LISTS = [
  ['streams', '/streams', 'streams'],
  ['modules', '/smartmodules', 'modules'],
  ['pipelines', '/pipelines', 'pipelines'],
] as const

const SHOWN_MAX = 20

/** Prints the account's streams, its own SmartModules and its pipelines, the newest ones with their status. */
export async function showWhatIsThere(apiUrl: string, account: Key, say: (line: string) => void): Promise<void> {
  const api = await openApi(apiUrl, account)
  say('')
  say('This start uses the data of earlier starts, so it skips the tour. What they have created:')
  for (const [label, path, kind] of LISTS) {
    const page = await api.get<{ total: number } & Record<string, Named[]>>(`${path}?page_size=100&sort=-created_at`)
    const own = (page[kind] ?? []).filter(({ name }) => !name.startsWith('dps/'))
    const texts = own
      .slice(0, SHOWN_MAX)
      .map(({ name, status, id, pipeline_id }) => `${name} (${id ?? pipeline_id}${status ? `, ${status}` : ''})`)
    const more = page.total - (page[kind] ?? []).length + own.length - texts.length
    say(`${label.padEnd(9)} ${texts.join(' · ') || 'none'}${more > 0 ? ` · ${more} more` : ''}`)
  }
}
