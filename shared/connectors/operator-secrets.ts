/** Which of the operator's defaults are secrets: which connector alone gets each one for a check, and which part must never be shown. */
import type { OperatorDefaults } from './connector.ts'

/** Defaults that tell no secret, which every connector gets. */
type Open = 'addresses' | 'per_account' | 'bucket_folders'

type OperatorSecret = {
  /** Id of the connector that uses it. */
  usedBy: string
  /** Whether an endpoint of that connector with this config uses it. */
  isUsed(config: Record<string, unknown>): boolean
  hidden(defaults: OperatorDefaults): string | undefined
}

/** By member of the defaults. One that is neither here nor in `Open` does not compile: else it would go to every connector, unmasked. */
const OPERATOR_SECRETS: Record<Exclude<keyof OperatorDefaults, Open>, OperatorSecret> = {
  bucket: { usedBy: 'conn_storage_bucket', isUsed: () => true, hidden: ({ bucket }) => bucket?.secret_key },
  warehouse_url: {
    usedBy: 'conn_table',
    isUsed: ({ connection }) => connection === undefined,
    hidden: ({ warehouse_url }) => warehouse_url,
  },
}

const MEMBERS = Object.keys(OPERATOR_SECRETS) as (keyof typeof OPERATOR_SECRETS)[]

/** The defaults with only those secrets of the operator's that an endpoint with this config uses. */
export function defaultsOfEndpoint(
  defaults: OperatorDefaults,
  { connector_id, config }: { connector_id: string; config: Record<string, unknown> },
): OperatorDefaults {
  const kept = { ...defaults }
  for (const member of MEMBERS) {
    const { usedBy, isUsed } = OPERATOR_SECRETS[member]
    if (usedBy !== connector_id || !isUsed(config)) delete kept[member]
  }
  return kept
}

/** The texts of the defaults that are masked wherever they occur. */
export const hiddenIn = (defaults: OperatorDefaults): string[] =>
  MEMBERS.map((member) => OPERATOR_SECRETS[member].hidden(defaults)).filter((text) => text !== undefined)
