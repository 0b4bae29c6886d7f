/** The log at the exit of a process: its reader may be there, gone, or standing still. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { limitMs } from '../harness/machine-speed.ts'

const LOG = join(import.meta.dirname, '..', '..', 'shared', 'telemetry', 'log.ts')
const LINES = 3000

/** A process that says that it is ready, logs lines of about 1 KB once it is told to, and exits at once. */
function start() {
  const program = `
    const { createLogger } = await import(${JSON.stringify(LOG)})
    const log = createLogger('test', 'info')
    process.stderr.write('ready')
    process.stdin.once('data', () => {
      for (let n = 0; n < ${LINES}; n++) log.info({ n, text: 'x'.repeat(1000) }, 'line')
      process.exit(0)
    })`
  const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', program], { stdio: ['pipe', 'pipe', 'pipe'] })
  return { child, ready: once(child.stderr, 'data'), exited: once(child, 'exit'), closed: once(child, 'close') }
}

describe('a process that logs and exits', () => {
  it('leaves every line to a reader that takes them', async () => {
    const { child, ready, closed } = start()
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => void (text += chunk))
    await ready
    child.stdin.write('go')
    expect(await closed).toEqual([0, null])
    expect(
      text
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { n: number }).n),
    ).toEqual(Array.from({ length: LINES }, (_, n) => n))
  })

  it.each([
    ['gone', (child: ReturnType<typeof start>['child']) => void child.stdout.destroy()],
    ['standing still', (child: ReturnType<typeof start>['child']) => void child.stdout.pause()],
  ])('exits although the reader is %s', async (_what, leave) => {
    const { child, ready, exited } = start()
    leave(child)
    await ready
    child.stdin.write('go')
    const timer = setTimeout(() => child.kill('SIGKILL'), limitMs(10_000))
    expect(await exited).toEqual([0, null])
    clearTimeout(timer)
  })
})
