/** A config as a form, made from its JSON Schema. What the form has no field for is written as JSON. */
import type { Detail } from '../api.ts'
import { useEffect, useId, useState } from 'preact/hooks'
import { isObject } from '../records.ts'
import { Input, isListOfTexts, isSecret, Written, type FieldProps, type Schema } from './config-fields.tsx'

type Value = Record<string, unknown>

/** Its members are fields of their own. */
const isGroup = (schema: Schema): boolean =>
  schema.type === 'object' && schema.properties !== undefined && Object.keys(schema.properties).length > 0

const plainIn = (all: readonly Schema[]): Schema | undefined => all.find((own) => own.enum !== undefined || own.type === 'string')
const isOneOrMore = ({ anyOf = [] }: Schema): boolean => anyOf.some(isListOfTexts)

/** Of an object whose members have any names, or of a text or a list of them: what each value is, where that is a text or a choice. */
function eachOf(schema: Schema): Schema | undefined {
  const { properties, additionalProperties: each, anyOf = [] } = schema
  if (isOneOrMore(schema)) return plainIn(anyOf)
  return properties || typeof each !== 'object' ? undefined : plainIn([each, ...(each.anyOf ?? [])])
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

const Faults = ({ faults }: { faults: readonly Detail[] }) => (
  <>
    {faults.map(({ message }) => (
      <small key={message} class="bad">
        {message}
      </small>
    ))}
  </>
)

type Row = { key: number; name: string; value: unknown }
let lastRow = 0
const rowOf = (name: string, value?: unknown): Row => ({ key: ++lastRow, name, value })

/** Whether the field for a text or a choice shows the value as it is. */
const isPlain = (value: unknown, { enum: choices }: Schema): boolean =>
  value === undefined || (choices ? choices.includes(value) : typeof value === 'string' && !value.includes('\n'))

/**
 * Members of any names, a row each; values alone where it `isList`, of which a single one stays a text unless it came in a list. A row
 * without a name or a value is left out.
 */
function Rows({
  schema,
  value,
  isRequired,
  onChange,
  secrets,
  faults,
  title,
  isList,
}: Omit<MemberProps, 'name'> & { title: string; isList: boolean }) {
  const [rows, setRows] = useState(() => {
    if (value === undefined) return isRequired ? [rowOf('')] : []
    return Object.entries(isList ? [value].flat() : (value as Value)).map(([name, own]) => rowOf(name, own))
  })
  const [mayBeText] = useState(isList && !Array.isArray(value))
  const change = (next: Row[]): void => {
    setRows(next)
    const full = next.flatMap(({ name, value: own }): [string, unknown][] =>
      (name === '' && !isList) || own === undefined ? [] : [[name, own]],
    )
    const values = full.map(([, own]) => own)
    const all = !isList ? Object.fromEntries(full) : mayBeText && values.length === 1 ? values[0] : values
    onChange(full.length > 0 || isRequired ? all : undefined)
  }
  return (
    <>
      {rows.map((row, index) => {
        const set = (part: Partial<Row>): void => change(rows.with(index, { ...row, ...part }))
        const isTwice = row.name !== '' && rows.some(({ name }, other) => other < index && name === row.name)
        const id = `row-${row.key}`
        return (
          <div key={row.key} class="line row">
            {!isList && (
              <input
                aria-label={`${title}: name ${index + 1}`}
                spellcheck={false}
                required
                ref={(input) => input?.setCustomValidity(isTwice ? 'There is one with this name already.' : '')}
                value={row.name}
                onInput={({ currentTarget }) => set({ name: currentTarget.value })}
              />
            )}
            <label for={id} class="hidden">
              {title}: value {index + 1}
            </label>
            <Input
              schema={isPlain(row.value, schema) ? schema : {}}
              value={row.value}
              isRequired
              secrets={secrets}
              id={id}
              onChange={(next) => set({ value: next })}
            />
            <button type="button" class="plain" onClick={() => change(rows.toSpliced(index, 1))}>
              remove
            </button>
            <Faults faults={within(faults, isList ? index : row.name)} />
          </div>
        )
      })}
      <button type="button" class="plain" onClick={() => setRows([...rows, rowOf('')])}>
        add
      </button>
    </>
  )
}

function Member({ name, schema, value, isRequired, onChange, secrets, faults }: MemberProps) {
  const id = useId()
  const title = titleOf(name, schema)
  const star = isRequired && <span aria-hidden="true"> *</span>
  const isList = isOneOrMore(schema)
  const isOfRows = isList ? typeof value === 'string' || Array.isArray(value) : isObject(value)
  const each = value === undefined || isOfRows ? eachOf(schema) : undefined
  if (each)
    return (
      <fieldset>
        <legend>
          {title}
          {star}
        </legend>
        {schema.description && <small>{schema.description}</small>}
        <Faults faults={faults.filter(({ path }) => path === '')} />
        <Rows
          schema={each}
          title={title}
          value={value}
          isRequired={isRequired}
          onChange={onChange}
          secrets={secrets}
          faults={faults}
          isList={isList}
        />
      </fieldset>
    )
  if (isGroup(schema) && !isSecret(schema))
    return (
      <fieldset>
        <legend>{title}</legend>
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
        {title}
        {star}
      </label>
      <Input schema={schema} value={value} isRequired={isRequired} onChange={onChange} secrets={secrets} id={id} />
      <Faults faults={faults} />
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
