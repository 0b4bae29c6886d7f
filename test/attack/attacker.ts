/** The attacking account's client, in a process of its own. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Account } from '../../deploy/local/launcher.ts'
import type { Outcome } from './assaults.ts'

/** What its process is told at first; `holdMs`: how long a pipeline runs with what it deploys. */
export type AttackerPlace = { apiUrl: string; brokers: string[]; account: Account; holdMs: number }
/** One attack: a module by its index in `HOSTILE`, or a lie by its index in `LIES`, with the port of its server. */
export type Asked = { kind: 'module'; index: number } | { kind: 'lie'; index: number; port: number }
/** What its process says: that it is ready, or how the attack with this number went. */
export type Said = 'ready' | { number: number; outcome: Outcome }

export type Attacker = { pid: number; attack(asked: Asked): Promise<Outcome>; close(): void }

/** Starts the process, and returns once it has its streams. Throws an Error, also from `attack`, where the process ends. */
export async function startAttacker(place: AttackerPlace): Promise<Attacker> {
  const child = fork(join(import.meta.dirname, 'attacker-process.ts'), [JSON.stringify(place)], {
    execArgv: ['--no-warnings'],
    detached: true,
  })
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('the attacker’s process has ended')))
  ended.catch(() => {})
  await Promise.race([once(child, 'message'), ended])
  const waiting = new Map<number, (outcome: Outcome) => void>()
  let count = 0
  child.on('message', (said: Exclude<Said, 'ready'>) => waiting.get(said.number)?.(said.outcome))
  return {
    pid: child.pid!,
    attack(asked) {
      const number = count++
      child.send({ number, asked })
      return Promise.race([new Promise<Outcome>((resolve) => waiting.set(number, resolve)), ended])
    },
    close: () => void child.kill('SIGKILL'),
  }
}
