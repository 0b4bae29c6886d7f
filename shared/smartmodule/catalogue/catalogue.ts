/** The built-in SmartModules, present in every account as `dps/<name>`. To add one, add a folder here and an entry below. */
import { join } from 'node:path'
import { compileCached } from '../compile-cache.ts'

/** A built-in SmartModule; `parameters` is the JSON Schema for a step's config. */
export type BuiltIn = { name: string; version: string; description: string; parameters: Record<string, unknown> }

const fieldName = { type: 'string', minLength: 1 }
const expression = { type: 'string', minLength: 1, maxLength: 10_000 }
const castType = { enum: ['integer', 'decimal', 'number', 'boolean', 'date', 'timestamp', 'string'] }
const fieldNames = { type: 'array', items: fieldName }

/** All built-ins. A step's config is checked against `parameters` when a pipeline is created. */
export const BUILT_INS: readonly BuiltIn[] = [
  {
    name: 'dps/filter',
    version: '1.0.0',
    description: 'Keeps the records whose field satisfies the comparison, or for which the expression is true.',
    parameters: {
      type: 'object',
      additionalProperties: false,
      if: { required: ['expression'] },
      else: { required: ['field', 'operator'] },
      properties: {
        expression: { ...expression, description: 'instead of field, operator and value: a condition in CEL, as in dps/cel' },
        field: { ...fieldName, description: 'dotted path of the field, for example customer.address.city' },
        operator: { enum: ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'contains', 'starts_with', 'ends_with', 'exists'] },
        value: { description: 'value to compare with; an array for `in`; for `exists`, true (default) or false' },
      },
    },
  },
  {
    name: 'dps/map-fields',
    version: '1.0.0',
    description: 'Renames, drops, sets, re-cases and trims fields; dotted paths address nested ones.',
    parameters: {
      type: 'object',
      additionalProperties: false,
      properties: {
        rename: { type: 'object', additionalProperties: fieldName, description: 'old name to new name, in the same object' },
        drop: fieldNames,
        set: { type: 'object', description: 'field to any JSON value' },
        uppercase: fieldNames,
        lowercase: fieldNames,
        trim: fieldNames,
      },
    },
  },
  {
    name: 'dps/cel',
    version: '1.0.0',
    description: 'Filters, changes and multiplies records by expressions (CEL, cel.dev).',
    parameters: {
      type: 'object',
      additionalProperties: false,
      minProperties: 1,
      properties: {
        filter: { ...expression, description: 'records for which this is true are kept' },
        set: { type: 'object', additionalProperties: expression, description: 'top-level field to the expression that it becomes' },
        emit: {
          anyOf: [expression, { type: 'array', minItems: 1, maxItems: 100, items: expression }],
          description: 'what becomes of the record: one expression whose list has the new values, or an array of one expression for each',
        },
      },
    },
  },
  {
    name: 'dps/cast',
    version: '1.0.0',
    description: 'Makes numbers, booleans, dates and times of texts, as files and forms have them, field by field.',
    parameters: {
      type: 'object',
      additionalProperties: false,
      required: ['fields'],
      properties: {
        fields: {
          type: 'object',
          minProperties: 1,
          description: 'field to its type, or to an object of options; dotted paths reach nested fields',
          additionalProperties: {
            anyOf: [
              castType,
              {
                type: 'object',
                additionalProperties: false,
                required: ['type'],
                properties: {
                  type: castType,
                  format: {
                    type: 'string',
                    minLength: 1,
                    maxLength: 100,
                    description: 'of a date or timestamp, for example DD.MM.YYYY HH:mm; unix; unix_ms',
                  },
                  decimal_point: { type: 'string', description: 'one character (default: .)' },
                  thousands: { type: 'string', description: 'one character between groups of three digits (default: none)' },
                  true: { type: 'array', items: { type: 'string' }, description: 'texts that are true, in any case' },
                  false: { type: 'array', items: { type: 'string' }, description: 'texts that are false, in any case' },
                  on_empty: { enum: ['null', 'absent', 'keep', 'fail'], description: 'what becomes of an empty text (default: null)' },
                  on_failure: {
                    enum: ['fail', 'null', 'absent', 'keep'],
                    description: 'what becomes of a value that can’t be cast (default: fail)',
                  },
                },
              },
            ],
          },
        },
      },
    },
  },
  {
    name: 'dps/redact',
    version: '1.0.0',
    description: 'Hides fields, and e-mail addresses, card numbers and IBANs in texts: masked, or as pseudonyms.',
    parameters: {
      type: 'object',
      additionalProperties: false,
      properties: {
        fields: {
          type: 'object',
          additionalProperties: { enum: ['mask', 'hash', 'null', 'drop'] },
          description: 'field to what becomes of it; dotted paths reach nested fields',
        },
        detect: { type: 'array', items: { enum: ['email', 'card', 'iban'] }, description: 'what to look for in all texts' },
        found: { enum: ['mask', 'hash'], description: 'what becomes of it (default: mask)' },
        key: { type: 'string', minLength: 16, description: 'of pseudonyms: the same value has the same one under the same key' },
      },
    },
  },
  {
    name: 'dps/text-classifier',
    version: '1.0.0',
    description: 'Labels a text field: with its sentiment by a lexicon, or with your own labels by keywords or examples.',
    parameters: {
      type: 'object',
      additionalProperties: false,
      required: ['field', 'output_field'],
      properties: {
        field: { ...fieldName, description: 'dotted path of the text' },
        output_field: { ...fieldName, description: 'top-level field that gets the label' },
        labels: {
          type: 'object',
          minProperties: 2,
          additionalProperties: {
            type: 'object',
            additionalProperties: false,
            minProperties: 1,
            properties: { keywords: { type: 'array', items: { type: 'string' } }, examples: { type: 'array', items: { type: 'string' } } },
          },
          description: 'label to its keywords or examples; with examples, a classifier is trained at start',
        },
        default_label: { type: 'string', description: 'label of a text without any keyword (default: other)' },
      },
    },
  },
]

/** The built-ins with their compiled binaries; the first call compiles them, later ones read the cache. */
export async function builtInSmartModules(cacheFolder: string): Promise<(BuiltIn & { binary: Uint8Array<ArrayBuffer> })[]> {
  return Promise.all(
    BUILT_INS.map(async (builtIn) => ({
      ...builtIn,
      binary: await compileCached(join(import.meta.dirname, builtIn.name.slice('dps/'.length), 'module.ts'), 'smartmodule', cacheFolder),
    })),
  )
}
