/** A process whose main thread is stuck is killed; one that is busy, or was paused as a whole, is not. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const MODULE = join(import.meta.dirname, '..', '..', 'shared', 'telemetry', 'liveness.ts')
const run = (code: string) =>
  spawn(
    process.execPath,
    ['--no-warnings', '--input-type=module', '-e', `import { watchLiveness } from ${JSON.stringify(MODULE)}\n${code}`],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )

describe('a process', () => {
  it('is killed and says why when its main thread is stuck', async () => {
    const child = run('watchLiveness(800); setTimeout(() => { for (;;); }, 300)')
    let said = ''
    child.stderr.on('data', (text) => (said += String(text)))
    const [, signal] = await once(child, 'exit')
    expect([signal, said]).toEqual(['SIGKILL', expect.stringContaining('has been blocked')])
  })

  it('is not killed when it is busy in turns, or was paused as a whole', async () => {
    const busy = 'for (const until = Date.now() + 300; Date.now() < until;);'
    const child = run(
      `watchLiveness(2000); let turns = 0; const turn = () => { ${busy} if (++turns < 6) setTimeout(turn, 10); else process.exit(7) }; turn()`,
    )
    const exited = once(child, 'exit')
    await new Promise((resolve) => setTimeout(resolve, 500))
    child.kill('SIGSTOP')
    await new Promise((resolve) => setTimeout(resolve, 3500))
    child.kill('SIGCONT')
    const [code] = await exited
    expect(code).toBe(7)
  })
})
