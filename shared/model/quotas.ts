/** How much an account may have, by its type. The operator may set other values for an account (`make quotas`). */
import { z } from 'zod'
import type { AccountType } from './limits.ts'

/** What is counted, and what it means. */
export const QUOTA_NAMES = {
  pipelines: 'pipelines',
  tasks: 'tasks of all pipelines together; a job that has not ended is one',
  streams: 'streams',
  partitions: 'partitions of all streams together',
  smartmodules: 'SmartModules',
  smartmodule_versions: 'versions of one SmartModule',
  smartmodule_bytes: 'bytes of all versions of all SmartModules together',
  dead_letter_bytes: 'bytes of all dead letters together; beyond it the oldest are deleted',
  dead_letter_days: 'days after which a dead letter is deleted',
  secrets: 'secrets',
  keys: 'API keys',
  members: 'members',
  pushed_requests_per_second: 'requests to `/ingest` per second, averaged over ten seconds',
  cpu_seconds_per_hour: 'CPU seconds of its pipelines in a clock hour; beyond it they get what other accounts leave over',
} as const

/** The name of a quota. */
export type QuotaName = keyof typeof QUOTA_NAMES
/** A value for each quota. */
export type Quotas = Record<QuotaName, number>

/** Schema of values that replace those of the account's type. */
export const QuotaChanges = z.partialRecord(z.enum(Object.keys(QUOTA_NAMES) as [QuotaName, ...QuotaName[]]), z.number().int().min(0))

const MIB = 1 << 20

/** The quotas of each account type. */
const QUOTAS: Record<AccountType, Quotas> = {
  developer: {
    pipelines: 25,
    tasks: 100,
    streams: 50,
    partitions: 400,
    smartmodules: 50,
    smartmodule_versions: 100,
    smartmodule_bytes: 256 * MIB,
    dead_letter_bytes: 1024 * MIB,
    dead_letter_days: 30,
    secrets: 100,
    keys: 50,
    members: 25,
    pushed_requests_per_second: 20,
    cpu_seconds_per_hour: 3600,
  },
  professional: {
    pipelines: 200,
    tasks: 800,
    streams: 400,
    partitions: 4000,
    smartmodules: 200,
    smartmodule_versions: 500,
    smartmodule_bytes: 1024 * MIB,
    dead_letter_bytes: 10 * 1024 * MIB,
    dead_letter_days: 90,
    secrets: 500,
    keys: 200,
    members: 200,
    pushed_requests_per_second: 200,
    cpu_seconds_per_hour: 4 * 3600,
  },
  enterprise: {
    pipelines: 2000,
    tasks: 8000,
    streams: 4000,
    partitions: 40_000,
    smartmodules: 1000,
    smartmodule_versions: 1000,
    smartmodule_bytes: 8192 * MIB,
    dead_letter_bytes: 100 * 1024 * MIB,
    dead_letter_days: 365,
    secrets: 2000,
    keys: 1000,
    members: 2000,
    pushed_requests_per_second: 2000,
    cpu_seconds_per_hour: 32 * 3600,
  },
}

/** The quotas of an account of this type with these changes. */
export const quotasOf = (type: AccountType, changes: Partial<Quotas>): Quotas => ({ ...QUOTAS[type], ...changes })
