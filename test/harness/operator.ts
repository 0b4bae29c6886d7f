/** What an operator does on the command line, with the environment of the launched service. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Account } from '../../deploy/local/launcher.ts'
import type { AccountType } from '../../shared/model/limits.ts'
import { loggedIn, service, unique, type Client } from './client.ts'
import { limitMs } from './machine-speed.ts'

const run = promisify(execFile)

/** Runs a script of the control plane. Throws an Error with its output when it fails. */
async function command(script: string, ...parameters: string[]): Promise<unknown> {
  const file = join(import.meta.dirname, '..', '..', 'services', 'control-plane', 'operator', script)
  const env = { ...process.env, ...service().env }
  const { stdout } = await run(process.execPath, ['--no-warnings', file, ...parameters], { env, timeout: limitMs(60_000) })
  return JSON.parse(stdout)
}

/** An account of its own, for tests of limits that others must not meet. */
export async function openAccount(type: AccountType): Promise<{ account: Account; client: Client }> {
  const account = (await command('create-account.ts', unique('account'), type)) as Account
  return { account, client: await loggedIn(account) }
}

/** A link's token for an owner of the account. */
export const signInLink = (accountId: string, email: string): Promise<unknown> => command('sign-in-link.ts', accountId, email)
/** Suspends the account, or, without a reason, ends its suspension. */
export const suspend = (accountId: string, reason = ''): Promise<unknown> => command('suspend-account.ts', accountId, reason)
/** Replaces quotas of the account's type. */
export const setQuotas = (accountId: string, quotas: Record<string, number>): Promise<unknown> =>
  command('set-quotas.ts', accountId, JSON.stringify(quotas))
/** Publishes anew what processors run; how many of each kind differed. */
export const republish = (): Promise<unknown> => command('republish.ts')
