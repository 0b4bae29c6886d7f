/** A config as a form, made from its JSON Schema. What the form has no field for is written as JSON. */
import type { Detail } from '../api.ts'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
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
  additionalProperties?: unknown
}
type Value = Record<string, unknown>

type FieldProps<T = unknown> = {
  schema: Schema
  value: T
  isRequired: boolean
  onChange(next: unknown): void
  secrets: readonly string[]
  id: string
}

const isSecret = ({ properties }: Schema): boolean => properties !== undefined && Object.keys(properties).join() === '$secret'
const isListOfTexts = ({ type, items }: Schema): boolean => type === 'array' && items?.type === 'string' && items.enum === undefined
/** Its members are fields of their own. */
const isGroup = (schema: Schema): boolean =>
  schema.type === 'object' && schema.properties !== undefined && Object.keys(schema.properties).length > 0

const exampleOf = ({ examples, default: given }: Schema): string => {
  const example = examples?.[0] ?? given
  return example === undefined ? '' : typeof example === 'string' ? example : writeJson(example)
}

/** JSON, as it is typed: `onChange` gets what it says, as soon as it says something. */
function Written({ value, isRequired, onChange, schema, id }: FieldProps) {
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

function Input(props: FieldProps) {
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

/** The unit that a name ends in. */
const UNIT = /_(ms|seconds|bytes)$/
const titleOf = (name: string, { title }: Schema): string =>
  title ?? (name.charAt(0).toUpperCase() + name.slice(1)).replace(UNIT, ' ($1)').replaceAll('_', ' ')
const hintOf = (schema: Schema): string | undefined =>
  isListOfTexts(schema) ? [schema.description, 'One a line.'].filter(Boolean).join(' · ') : schema.description

type MemberProps = Omit<FieldProps, 'id'> & {
  name: string
  /** What a check has found, with paths from this member on. */
  faults: readonly Detail[]
}

/** The faults that are about the member, with paths from there on. */
export const within = (faults: readonly Detail[], name: string | number): Detail[] =>
  faults.flatMap(({ path, message }) => (`${path}/`.startsWith(`/${name}/`) ? [{ path: path.slice(`${name}`.length + 1), message }] : []))

function Member({ name, schema, value, isRequired, onChange, secrets, faults }: MemberProps) {
  const id = useId()
  if (isGroup(schema) && !isSecret(schema))
    return (
      <fieldset>
        <legend>{titleOf(name, schema)}</legend>
        {schema.description && <small>{schema.description}</small>}
        <Members
          schema={schema}
          value={(value as Value | undefined) ?? {}}
          // What is left empty is left out, and so is what it would have asked for.
          isAsked={isRequired || value !== undefined}
          onChange={(next) => onChange(Object.keys(next).length === 0 && !isRequired ? undefined : next)}
          secrets={secrets}
          faults={faults}
        />
      </fieldset>
    )
  const hint = hintOf(schema)
  return (
    <div class="field">
      <label for={id}>
        {titleOf(name, schema)}
        {isRequired && <span aria-hidden="true"> *</span>}
      </label>
      <Input schema={schema} value={value} isRequired={isRequired} onChange={onChange} secrets={secrets} id={id} />
      {faults.map(({ message }) => (
        <small key={message} class="bad">
          {message}
        </small>
      ))}
      {hint && <small>{hint}</small>}
    </div>
  )
}

function Members({
  schema,
  value,
  isAsked,
  onChange,
  secrets,
  faults,
}: {
  schema: Schema
  value: Value
  isAsked: boolean
  onChange(next: Value): void
  secrets: readonly string[]
  faults: readonly Detail[]
}) {
  const all = Object.entries(schema.properties ?? {})
  const isRequired = (name: string): boolean => schema.required?.includes(name) ?? false
  const member = ([name, own]: [string, Schema]) => (
    <Member
      key={name}
      name={name}
      schema={own}
      value={value[name]}
      isRequired={isAsked && isRequired(name)}
      secrets={secrets}
      faults={within(faults, name)}
      onChange={(next) => {
        const { [name]: _before, ...others } = value
        // In its place: a config that is as it was is written as it was.
        onChange(next === undefined ? others : { ...value, [name]: next })
      }}
    />
  )
  const asked = all.filter(([name]) => isRequired(name) || value[name] !== undefined)
  const others = all.filter((each) => !asked.includes(each))
  const [opened] = useState(() => asked.map(([name]) => name))
  // A field stays where it was while it is being filled in.
  const [first, rest] = [all.filter(([name]) => opened.includes(name)), all.filter(([name]) => !opened.includes(name))]
  if (first.length === 0 || rest.length === 0 || others.length === 0) return <>{all.map(member)}</>
  return (
    <>
      {first.map(member)}
      <details>
        <summary>
          {rest.length} more: {rest.map(([name, own]) => titleOf(name, own)).join(', ')}
        </summary>
        {rest.map(member)}
      </details>
    </>
  )
}

/** The config's form; as JSON, where one prefers that or the schema says too little. */
export function SchemaForm({
  schema,
  value,
  onChange,
  secrets = [],
  faults = [],
}: {
  schema: Schema
  value: Value
  onChange(next: Value): void
  secrets?: readonly string[]
  faults?: readonly Detail[]
}) {
  const id = useId()
  const hasFields = Object.keys(schema.properties ?? {}).length > 0
  const [isText, setIsText] = useState(!hasFields)
  useEffect(() => setIsText(!hasFields), [schema])
  if (!hasFields && schema.additionalProperties === false) return <p class="quiet">It has nothing to configure.</p>
  return (
    <div class="config">
      {isText ? (
        <label class="field">
          <span>Config, as JSON</span>
          <Written
            id={id}
            schema={schema}
            value={value}
            isRequired={false}
            secrets={secrets}
            onChange={(next) => onChange((next ?? {}) as Value)}
          />
        </label>
      ) : (
        <Members schema={schema} value={value} isAsked onChange={onChange} secrets={secrets} faults={faults} />
      )}
      {hasFields && (
        <button type="button" class="plain" onClick={() => setIsText(!isText)}>
          {isText ? 'as fields' : 'as JSON'}
        </button>
      )}
    </div>
  )
}
