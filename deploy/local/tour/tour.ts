/**
 * The tour: what a new user would do. First the bucket-to-table example; then, over HTTP alone: token →
 * two streams → a SmartModule compiled and deployed → a pipeline with a classifier trained on half of a labelled corpus → the other half
 * written → the result read back in pages, with its accuracy.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { compileSmartModule } from '../../../shared/smartmodule/compile.ts'
import type { Account, Launched } from '../launcher.ts'
import { openApi, type Api } from './api.ts'
import { dropTable, runContractExample, TABLE_PIPELINE } from './bucket-to-table.ts'
import { CORPUS_SOURCE, loadCorpus, type Label, type Paragraph } from './corpus.ts'

const RECORDS_MAX = 20_000
const RECORDS_MIN = 10_000
const WRITE_RECORDS = 500
const DEADLINE_MS = 120_000
/** Examples are part of the pipeline's config, and the request's body may have 1 MiB. */
const EXAMPLE_CHARACTERS_PER_LABEL = 380_000

type Classified = Paragraph & { words: number; label: Label }

/** As many paragraphs of a label as fit, taken evenly from the whole training half. */
function examplesOf(training: Paragraph[], label: Label): string[] {
  const own = training.filter(({ truth }) => truth === label).map(({ text }) => text.slice(0, 400))
  const total = own.reduce((sum, text) => sum + text.length, 0)
  const every = Math.max(1, Math.ceil(total / EXAMPLE_CHARACTERS_PER_LABEL))
  return own.filter((_, index) => index % every === 0)
}

async function writeRecords(api: Api, streamId: string, records: Paragraph[]): Promise<void> {
  for (let at = 0; at < records.length; at += WRITE_RECORDS)
    await api.post(`/streams/${streamId}/data`, { records: records.slice(at, at + WRITE_RECORDS) })
}

async function waitForTotal(api: Api, streamId: string, total: number): Promise<void> {
  for (const deadline = Date.now() + DEADLINE_MS; Date.now() < deadline;) {
    const page = await api.get<{ pagination: { total: number } }>(`/streams/${streamId}/data?limit=1`)
    if (page.pagination.total >= total) return
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
  throw new Error(`the pipeline did not deliver ${total} records within ${DEADLINE_MS / 1000} s`)
}

async function readAll(api: Api, streamId: string): Promise<Classified[]> {
  const records: Classified[] = []
  for (let cursor = ''; ;) {
    const page = await api.get<{ data: Classified[]; pagination: { next_cursor?: string; has_more?: true } }>(
      `/streams/${streamId}/data?limit=1000${cursor}`,
    )
    records.push(...page.data)
    if (!page.pagination.has_more) return records
    cursor = `&cursor=${page.pagination.next_cursor}`
  }
}

function printRows(say: (line: string) => void, records: Classified[]): void {
  const step = Math.max(1, Math.floor(records.length / 8))
  say('')
  say('label  truth  words  text')
  for (let at = 0; at < records.length && at < step * 8; at += step) {
    const { label, truth, words, text } = records[at]!
    say(`${label.padEnd(6)} ${truth.padEnd(6)} ${String(words).padStart(5)}  ${text.slice(0, 90)}`)
  }
  say('')
}

const percent = (part: number, whole: number): string => `${((100 * part) / Math.max(1, whole)).toFixed(1)} %`

const OWN_STREAMS = ['reviews', 'classified reviews']
const OWN_PIPELINES = ['classify reviews', TABLE_PIPELINE]
const OWN_MODULE = 'word-count'

/** Removes what an interrupted tour has left. */
export async function discardTour(launched: Pick<Launched, 'apiUrl' | 'stack'>, account: Account): Promise<void> {
  const api = await openApi(launched.apiUrl, account)
  const named = async (kind: string, path: string, names: string[], id: string) => {
    const page = await api.get<Record<string, Record<string, string>[]>>(`${path}?page_size=100`)
    return (page[kind] ?? []).filter(({ name }) => names.includes(name!)).map((each) => `${path}/${each[id]}`)
  }
  const gone = (path: string) =>
    api.get(path).then(
      () => false,
      () => true,
    )
  // Pipelines first: streams and modules in use can't be deleted.
  for (const path of await named('pipelines', '/pipelines', OWN_PIPELINES, 'pipeline_id')) {
    await api.remove(path)
    for (const until = Date.now() + DEADLINE_MS; Date.now() < until && !(await gone(path));)
      await new Promise((resolve) => setTimeout(resolve, 250))
  }
  for (const path of await named('streams', '/streams', OWN_STREAMS, 'id')) await api.remove(path)
  for (const path of await named('modules', '/smartmodules', [OWN_MODULE], 'id')) await api.remove(path)
  if (launched.stack.warehouseUrl) await dropTable(launched.stack.warehouseUrl)
}

export async function runTour(launched: Pick<Launched, 'apiUrl' | 'stack'>, account: Account, say: (line: string) => void): Promise<void> {
  const { apiUrl, stack } = launched
  say('')
  say(`The tour. Its records are paragraphs of the ${CORPUS_SOURCE}`)
  const { training, test } = await loadCorpus(say)
  const records = test.slice(0).filter((_, index) => test.length <= RECORDS_MAX || index % Math.ceil(test.length / RECORDS_MAX) === 0)
  if (records.length < RECORDS_MIN) throw new Error(`the corpus has only ${records.length} records`)
  const api = await openApi(apiUrl, account)
  say('token     received for the API key')

  const labels = { ham: { examples: examplesOf(training, 'ham') }, spam: { examples: examplesOf(training, 'spam') } }
  if (stack.warehouseUrl) await runContractExample(api, { bucket: stack.bucket, warehouseUrl: stack.warehouseUrl }, records, labels, say)
  say('')
  say('The same again over HTTP: streams instead of bucket and table, and a SmartModule of your own before the classifier.')

  const text = { mail: 'string', truth: 'string', text: 'string' }
  const reviews = await api.post<{ id: string }>('/streams', {
    name: 'reviews',
    description: 'paragraphs of mails that wait for review',
    schema: text,
  })
  const classified = await api.post<{ id: string }>('/streams', {
    name: 'classified reviews',
    description: 'the same paragraphs with their number of words and a label',
    schema: { ...text, words: 'integer', label: 'string' },
  })
  say(`streams   created: reviews (${reviews.id}), classified reviews (${classified.id})`)

  const source = await readFile(join(import.meta.dirname, 'word-count', 'module.ts'), 'utf8')
  const binary = Buffer.from(await compileSmartModule(source)).toString('base64')
  const wordCount = await api.post<{ id: string; name: string; version: string }>('/smartmodules', {
    name: OWN_MODULE,
    wasm_binary: binary,
    config: { input_format: 'json', output_format: 'json' },
  })
  say(`module    ${wordCount.name} ${wordCount.version} compiled from TypeScript and deployed (${wordCount.id})`)

  const { modules } = await api.get<{ modules: { id: string; name: string }[] }>('/smartmodules?name=dps%2Ftext-classifier')
  const pipeline = await api.post<{ pipeline_id: string }>('/pipelines', {
    name: 'classify reviews',
    description: 'reviews → word-count → text-classifier → classified reviews',
    source: { connector_id: 'conn_stream', config: { stream_id: reviews.id } },
    processors: [
      { module_id: wordCount.id, config: {} },
      { module_id: modules[0]!.id, config: { field: 'text', output_field: 'label', labels } },
    ],
    sink: { connector_id: 'conn_stream', config: { stream_id: classified.id } },
  })
  say(
    `pipeline  created: reviews → word-count → text-classifier (trained on ${labels.ham.examples.length} ham and ${labels.spam.examples.length} spam paragraphs) → classified reviews (${pipeline.pipeline_id})`,
  )

  const from = performance.now()
  await writeRecords(api, reviews.id, records)
  const written = performance.now()
  await waitForTotal(api, classified.id, records.length)
  const done = performance.now()
  say(
    `written   ${records.length.toLocaleString('en')} records over HTTP in ${((written - from) / 1000).toFixed(1)} s; the last one was classified ${((done - written) / 1000).toFixed(1)} s later`,
  )

  const result = await readAll(api, classified.id)
  printRows(say, result)
  const right = result.filter(({ label, truth }) => label === truth).length
  const spam = result.filter(({ truth }) => truth === 'spam')
  say(
    `read back ${result.length.toLocaleString('en')} records, each once (${new Set(result.map(({ mail, text: own }) => `${mail}\n${own}`)).size.toLocaleString('en')} distinct texts)`,
  )
  say(
    `rate      ${Math.round(records.length / ((done - from) / 1000)).toLocaleString('en')} records/s from the first HTTP write to the last classified record (make bench measures the data plane without HTTP)`,
  )
  say(
    `accuracy  ${percent(right, result.length)} of the paragraphs labelled correctly; ${percent(spam.filter(({ label }) => label === 'spam').length, spam.length)} of the ${spam.length.toLocaleString('en')} spam paragraphs found`,
  )
}
