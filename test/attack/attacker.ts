/** The attacking account's client, in a process of its own. */
import type { Account } from '../../deploy/local/launcher.ts'
import type { Outcome } from './assaults.ts'
import { startClient } from './client-process.ts'

/** What its process is told at first; `holdMs`: how long a pipeline runs with what it deploys. */
export type AttackerPlace = { apiUrl: string; brokers: string[]; account: Account; holdMs: number }
/** One attack: a module by its index in `HOSTILE`, or a lie by its index in `LIES`, with the port of its server. */
export type Asked = { kind: 'module'; index: number } | { kind: 'lie'; index: number; port: number }
/** What its process says: that it is ready, or how the attack with this number went. */
export type Said = 'ready' | { number: number; outcome: Outcome }

export type Attacker = { pid: number; attack(asked: Asked): Promise<Outcome>; close(): void }

/** Starts the process, and returns once it has its streams. Throws an Error, also from `attack`, where the process ends. */
export async function startAttacker(place: AttackerPlace): Promise<Attacker> {
  const { client, ended } = await startClient('attacker-process.ts', place, 'the attacker’s client')
  const waiting = new Map<number, (outcome: Outcome) => void>()
  let count = 0
  client.on('message', (said: Exclude<Said, 'ready'>) => waiting.get(said.number)?.(said.outcome))
  return {
    pid: client.pid!,
    attack(asked) {
      const number = count++
      client.send({ number, asked })
      return Promise.race([new Promise<Outcome>((resolve) => waiting.set(number, resolve)), ended])
    },
    close: () => void client.kill('SIGKILL'),
  }
}
