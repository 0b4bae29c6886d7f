/** The fields of a config's form: one for each kind of value. What has none is written as JSON. */
import { useRef, useState } from 'preact/hooks'
import { parseAsWritten, writeJson } from '../../../../clients/typescript/src/core/exact-json.ts'
import { jsonNumber } from '../format.ts'

export type Schema = {
  type?: string
  title?: string
  description?: string
  default?: unknown
  examples?: unknown[]
  enum?: unknown[]
  minimum?: number
  maximum?: number
  format?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  additionalProperties?: boolean | Schema
}

export type FieldProps<T = unknown> = {
  schema: Schema
  value: T
  isRequired: boolean
  onChange(next: unknown): void
  secrets: readonly string[]
  id: string
}

export const isSecret = ({ properties }: Schema): boolean => properties !== undefined && Object.keys(properties).join() === '$secret'
export const isListOfTexts = ({ type, items }: Schema): boolean => type === 'array' && items?.type === 'string' && items.enum === undefined

const exampleOf = ({ examples, default: given }: Schema): string => {
  const example = examples?.[0] ?? given
  return example === undefined ? '' : typeof example === 'string' ? example : writeJson(example)
}

/** JSON, as it is typed: `onChange` gets what it says, as soon as it says something. */
export function Written({ value, isRequired, onChange, schema, id }: FieldProps) {
  const [text, setText] = useState(() => (value === undefined ? '' : writeJson(value, 2)))
  const area = useRef<HTMLTextAreaElement>(null)
  return (
    <textarea
      id={id}
      ref={area}
      rows={Math.min(12, text.split('\n').length + 1)}
      spellcheck={false}
      required={isRequired}
      value={text}
      placeholder={exampleOf(schema)}
      onInput={({ currentTarget }) => {
        setText(currentTarget.value)
        try {
          onChange(currentTarget.value.trim() === '' ? undefined : parseAsWritten(currentTarget.value))
          currentTarget.setCustomValidity('')
        } catch {
          currentTarget.setCustomValidity('This is not JSON, for example {"name": "value"} or ["a", "b"].')
        }
      }}
    />
  )
}

function Choice({ value, isRequired, onChange, schema, id }: FieldProps) {
  return (
    <select
      id={id}
      required={isRequired}
      value={value === undefined ? '' : writeJson(value)}
      onChange={({ currentTarget }) => onChange(currentTarget.value === '' ? undefined : parseAsWritten(currentTarget.value))}
    >
      <option value="">{schema.default === undefined ? '—' : `${String(schema.default)} (default)`}</option>
      {schema.enum
        ?.filter((each) => each !== schema.default || each === value)
        .map((each) => (
          <option key={String(each)} value={writeJson(each)}>
            {String(each)}
          </option>
        ))}
    </select>
  )
}

function Secret({ value, isRequired, onChange, secrets, id }: FieldProps) {
  const named = (value as { $secret?: string } | undefined)?.$secret ?? ''
  return (
    <select
      id={id}
      required={isRequired}
      value={named}
      onChange={({ currentTarget }) => onChange(currentTarget.value === '' ? undefined : { $secret: currentTarget.value })}
    >
      <option value="">—</option>
      {[...new Set([...secrets, ...(named === '' ? [] : [named])])].map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  )
}

/** Shows a number as it is typed, as long as it is that number. */
function NumberField({ schema, value, isRequired, onChange, id }: FieldProps) {
  const [typed, setTyped] = useState('')
  const text = value === undefined ? '' : String(value)
  return (
    <input
      id={id}
      type="number"
      step={schema.type === 'integer' ? 1 : 'any'}
      min={schema.minimum}
      max={schema.maximum}
      required={isRequired}
      placeholder={exampleOf(schema)}
      value={jsonNumber(typed) === text ? typed : text}
      onInput={({ currentTarget }) => {
        setTyped(currentTarget.value)
        onChange(currentTarget.value === '' ? undefined : parseAsWritten(jsonNumber(currentTarget.value)))
      }}
    />
  )
}

export function Input(props: FieldProps) {
  const { schema, value, isRequired, onChange, id } = props
  const { type } = schema
  if (isSecret(schema)) return <Secret {...props} />
  if (schema.enum) return <Choice {...props} />
  if (type === 'boolean') return <Choice {...props} schema={{ ...schema, enum: [true, false] }} />
  if (isListOfTexts(schema))
    return (
      <textarea
        id={id}
        rows={2}
        spellcheck={false}
        required={isRequired}
        placeholder={(schema.examples?.[0] as string[] | undefined)?.join('\n') ?? ''}
        value={((value as string[] | undefined) ?? []).join('\n')}
        onInput={({ currentTarget }) => onChange(currentTarget.value === '' ? undefined : currentTarget.value.split('\n'))}
      />
    )
  if (type === 'integer' || type === 'number') return <NumberField {...props} />
  if (type === 'string')
    return (
      <input
        id={id}
        spellcheck={false}
        required={isRequired}
        placeholder={exampleOf(schema)}
        value={(value as string | undefined) ?? ''}
        onInput={({ currentTarget }) => onChange(currentTarget.value === '' ? undefined : currentTarget.value)}
      />
    )
  return <Written {...props} />
}
