/** `make fuzz` where Schemathesis can't be installed: it fails, and does not count what was not run as nothing found. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { limitMs } from '../harness/machine-speed.ts'

const RUN = join(import.meta.dirname, '..', 'fuzz', 'run.ts')

it('fails at its start, and says how to run without it', { timeout: limitMs(60_000) }, async () => {
  const empty = await mkdtemp(join(tmpdir(), 'dps-fuzz-'))
  try {
    // No Python is on this PATH, and none is in this cache.
    const env = { PATH: empty, DPS_CACHE: empty }
    const { code, out } = await new Promise<{ code: unknown; out: string }>((resolve) =>
      execFile(process.execPath, ['--no-warnings', RUN], { env }, (error, stdout) => resolve({ code: error?.code ?? 0, out: stdout })),
    )
    expect(code).toBe(1)
    expect(out.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^fuzz: not run: Schemathesis can't be installed \(.*python3.*\): SCHEMATHESIS=0 runs without it$/),
    ])
  } finally {
    await rm(empty, { recursive: true })
  }
})
