/** The connector `generator`: generates records at a given rate, the same ones for the same seed. */
import { z } from 'zod'
import { direction, type Connector } from '../connector.ts'

/** Types of fields that records can be generated with. */
const GENERATED_TYPES = ['string', 'integer', 'number', 'boolean', 'datetime', 'uuid'] as const

/** Config of generated records, as requests give it. */
export const GeneratorConfig = z.strictObject({
  records_per_second: z.number().min(0.1).max(1_000_000).default(10).describe('total of all tasks').meta({ title: 'Rate' }),
  records_max: z
    .number()
    .int()
    .min(1)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('the source ends after this many; never when omitted')
    .meta({ title: 'Records' }),
  seed: z.number().int().min(0).max(0xffffffff).default(1).meta({ title: 'Seed' }),
  schema: z
    .record(z.string().min(1).max(200), z.enum(GENERATED_TYPES))
    .refine((schema) => Object.keys(schema).length <= 100, 'must have at most 100 fields')
    .default({ n: 'integer', text: 'string' })
    .describe('fields and their types; an integer field n counts the records')
    .meta({ title: 'Schema', examples: [{ n: 'integer', name: 'string', at: 'datetime' }] }),
})
/** A validated config with its defaults filled in. */
export type GeneratorConfig = z.output<typeof GeneratorConfig>

/** The connector’s entry in the catalogue. */
export const generatorConnector: Connector = {
  id: 'conn_generator',
  name: 'generator',
  description: 'Generates records at a given rate: the same seed gives the same records, each once.',
  version: '1.0.0',
  created_at: '2026-11-21T00:00:00.000Z',
  source: direction({
    config: GeneratorConfig,
    fields: ({ schema }) => schema,
    open: async () => (await import('./source.ts')).openGenerator,
  }),
}
