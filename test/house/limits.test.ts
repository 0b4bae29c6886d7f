/** `docs/limits.md` says what the code keeps. */
import { describe, expect, it } from 'vitest'
import { COUNTS_MAX } from '../../services/control-plane/workshop/wasm-sections.ts'
import { POSITION_BYTES_MAX } from '../../services/processor/intake/split-position.ts'
import { ACCOUNT_TYPE_NAMES, LIMITS, REQUESTS_PER_MINUTE } from '../../shared/model/limits.ts'
import { SMARTMODULE_LIMITS } from '../../shared/smartmodule/abi.ts'
import { QUOTA_NAMES, quotasOf, type QuotaName } from '../../shared/model/quotas.ts'
import { read } from './repository.ts'

const rows = read('docs/limits.md')
  .split('\n')
  .filter((line) => line.startsWith('| '))
/** What the table's row says behind its first cell, which begins so. */
const said = (first: string): string => rows.find((row) => row.startsWith(`| ${first}`))?.slice(first.length + 2) ?? 'no such row'

const inBytes = (bytes: number): string =>
  bytes >= 1 << 30 ? `${bytes / 2 ** 30} GiB` : bytes >= 1 << 20 ? `${bytes / 2 ** 20} MiB` : `${bytes / 2 ** 10} KiB`
const written = (limit: number): string => limit.toLocaleString('en-US')

describe('the documented quotas', () => {
  it.each(Object.keys(QUOTA_NAMES) as QuotaName[])('of %s are those of each account type', (name) => {
    const print = name.endsWith('_bytes') ? inBytes : written
    const cells = said(`\`${name}\``).split('|').slice(1, 4)
    expect(cells.map((cell) => cell.trim())).toEqual(ACCOUNT_TYPE_NAMES.map((type) => print(quotasOf(type, {})[name])))
  })
})

describe('the documented limits', () => {
  it.each([
    ['requests per account', ...Object.entries(REQUESTS_PER_MINUTE).map(([type, limit]) => `${type} ${written(limit)}`)],
    ['JSON body', inBytes(LIMITS.body_bytes_max), written(LIMITS.body_values_max), written(LIMITS.body_escapes_max)],
    ['JSON body', `${LIMITS.nesting_max} deep`, inBytes(LIMITS.credentials_body_bytes_max)],
    ['faults of a refused request', written(LIMITS.details_max)],
    ['SmartModule upload, manifest', inBytes(LIMITS.smartmodule_body_bytes_max), `a binary ${inBytes(SMARTMODULE_LIMITS.file_bytes_max)}`],
    ['binary', inBytes(SMARTMODULE_LIMITS.file_bytes_max)],
    ['memory', inBytes(SMARTMODULE_LIMITS.memory_pages_max << 16)],
    ['functions', written(COUNTS_MAX.functions)],
    [
      'types, imports, globals, exports',
      `${written(COUNTS_MAX.types)}, ${written(COUNTS_MAX.imports)}, ${written(COUNTS_MAX.globals)}, ${written(COUNTS_MAX.exports)};`,
    ],
    ['tables', `${COUNTS_MAX.tables},`, written(SMARTMODULE_LIMITS.table_elements_max)],
    ['records per call', inBytes(SMARTMODULE_LIMITS.call_bytes_max)],
    ['output per call', `${SMARTMODULE_LIMITS.output_bytes_per_input} ×`, inBytes(SMARTMODULE_LIMITS.output_bytes_extra)],
    ['names', `1–${LIMITS.name_characters_max}`],
    ['descriptions', `up to ${written(LIMITS.description_characters_max)} characters`],
    ['list page', `1–${LIMITS.page_size_max}`],
    ['stream data page', `1–${written(LIMITS.data_limit_max)} (${LIMITS.data_limit_default})`],
    ['records of a stream with their places', `1–${LIMITS.stream_records_max} (${LIMITS.stream_records_default})`],
    ['records of a stream with their places', `${written(LIMITS.key_query_characters_max)} characters`],
    ['records of one write', written(LIMITS.write_records_max)],
    ['fields', `1–${written(LIMITS.stream_fields_max)}`],
    ['partitions', `1–${LIMITS.stream_partitions_max}`, `up to ${LIMITS.adopted_partitions_max}`],
    ['one batch', inBytes(LIMITS.topic_batch_bytes_max)],
    ['schemas that another stream has had', inBytes(LIMITS.stream_schemas_bytes_max)],
    ['what a pipeline runs', inBytes(LIMITS.definition_bytes_max)],
    ['distinct binaries of a chain', inBytes(LIMITS.chain_binaries_bytes_max)],
    ['steps', String(LIMITS.chain_steps_max), written(LIMITS.config_values_max)],
    ['tasks', String(LIMITS.tasks_max)],
    ['policy `retry`', `up to ${LIMITS.retries_max}`, `up to ${written(LIMITS.backoff_ms_max)}`],
    ['explain, preview', `${LIMITS.preview_records_max} records`],
    ['comparing two versions', `${LIMITS.compare_records_max} records`],
    ['redrive', `${LIMITS.redrives_max} times`, `${written(LIMITS.job_ranges_max)} separate ranges`],
    ['position that a source gives', written(POSITION_BYTES_MAX)],
    ['source', inBytes(LIMITS.smartmodule_source_characters_max)],
    ['tests that are kept', inBytes(LIMITS.smartmodule_tests_bytes_max)],
    ['time per call', `${LIMITS.call_timeout_ms_min}–${written(LIMITS.call_timeout_ms_max)}`],
  ])('of %s are the code’s', (first, ...expected) => {
    for (const each of expected) expect(said(`${first}`)).toContain(each)
  })

  it('let a binary of the largest size through as base64', () => {
    expect((SMARTMODULE_LIMITS.file_bytes_max * 4) / 3).toBeLessThan(LIMITS.smartmodule_body_bytes_max)
  })

  it('are all that a client can meet', () => {
    /** No request can reach these. */
    const inside = ['canaries_per_pass', 'dead_letter_batch_bytes_max', 'dead_letter_headers_bytes']
    const compared = read('test/house/limits.test.ts')
    const missing = Object.keys(LIMITS).filter((name) => !inside.includes(name) && !compared.includes(`LIMITS.${name}`))
    expect(missing, 'docs/limits.md has a row of each, which is compared above').toEqual([])
  })
})
