/** The clients of both accounts: each in a process and a session of its own. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** `ended` rejects once it has ended, whatever the reason. */
export type ClientProcess = { client: ChildProcess; ended: Promise<never> }

/** Starts a file of this folder with what it is told, and returns at its first message. Throws an Error where it ends before. */
export async function startClient(file: string, told: object, name: string): Promise<ClientProcess> {
  const client = fork(join(import.meta.dirname, file), [JSON.stringify(told)], { execArgv: ['--no-warnings'], detached: true })
  const ended = once(client, 'exit').then(() => Promise.reject(new Error(`${name} has ended`)))
  ended.catch(() => {})
  // That it can't be asked any more is known from its end.
  client.on('error', () => {})
  await Promise.race([once(client, 'message'), ended])
  return { client, ended }
}
