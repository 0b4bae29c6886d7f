/** Small parts that every screen uses. */
import type { ComponentChildren, RefObject } from 'preact'
import { computed } from '@preact/signals'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Detail, Failure } from '../api.ts'
import { clock, now } from '../clock.ts'
import { ago, local, utc } from '../format.ts'
import type { Query } from '../query.ts'
import { inWords } from '../typed.ts'

/** The first screen begins at the top of the page, where the browser puts the focus. */
let isFirst = true

export function Title({ text, children }: { text: string; children?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${text} · Data Pipeline Service`
  }, [text])
  // Where the link that led here is gone, the focus would be nowhere.
  useEffect(() => {
    if (!isFirst && document.activeElement === document.body) heading.current?.focus()
    isFirst = false
  }, [])
  return (
    <header class="title">
      <h1 ref={heading} tabIndex={-1}>
        {text}
      </h1>
      {children}
    </header>
  )
}

/** A time as `clock` has it; all of it, in UTC and here, is in the tooltip. */
export function Time({ at }: { at: string }) {
  // A signal as a text: as time goes by, the text changes without the page being drawn again.
  const text = useMemo(
    () => computed(() => (clock.value === 'ago' ? ago(at, now.value) : clock.value === 'UTC' ? utc(at) : local(at))),
    [at],
  )
  return (
    <time dateTime={at} title={`${utc(at)}\n${local(at)} here`}>
      {text}
    </time>
  )
}

/** The message without what the details below say again. */
function headOf({ message, details }: Failure): string {
  const first = details[0]
  if (!first) return message
  const at = message.indexOf(first.path === '' ? first.message : `${first.path}: ${first.message}`)
  // A message that begins so has no head.
  return at < 0 ? message : message.slice(0, at).replace(/:? *$/, '')
}

const isAt = (path: string, at: string): boolean => `${path}/`.startsWith(`${at}/`)

/** What was refused about the member, to be said beside its field. */
export const faultAt = (failure: Failure | undefined, at: string): string | undefined =>
  failure?.details
    .filter(({ path }) => isAt(path, at))
    .map(({ path, message }) => `${inWords(path, at)} ${message}`.trim())
    .join('; ')

/** Items of a list. */
export const Details = ({ details }: { details: readonly Detail[] }) => (
  <>
    {details.map(({ path, message }) => (
      <li key={path + message}>
        {path && <b>{inWords(path)}</b>} {message}
      </li>
    ))}
  </>
)

/** `beside`: members whose fields say themselves what is wrong with them. */
export function Refused({ failure, beside = [] }: { failure: Failure | undefined; beside?: readonly string[] }) {
  if (!failure) return null
  const details = failure.details.filter(({ path }) => !beside.some((at) => isAt(path, at)))
  if (details.length === 0 && failure.details.length > 0) return null
  return (
    <div class="refused" role="alert">
      {headOf(failure)}
      {details.length > 0 && (
        <ul>
          <Details details={details} />
        </ul>
      )}
    </div>
  )
}

/** What a query has so far: never "nothing here" where nothing could be read. */
export function Loaded<T>({ query, children }: { query: Query<T>; children: (data: T) => ComponentChildren }) {
  const { data, failure } = query
  if (data !== undefined)
    return (
      <>
        {failure && failure.status !== 0 && <Refused failure={failure} />}
        {children(data)}
      </>
    )
  if (!failure) return <p class="quiet">Reading…</p>
  return failure.status === 0 || failure.status >= 500 ? (
    <p class="quiet" role="status">
      The service does not answer; trying again…
    </p>
  ) : (
    <Refused failure={failure} />
  )
}

const TONES: Record<string, string> = {
  running: 'good',
  active: 'good',
  delivered: 'good',
  finished: 'good',
  passed: 'good',
  failed: 'bad',
  dead_letter: 'bad',
  error: 'bad',
  paused: 'warn',
  warn: 'warn',
  starting: 'info',
  stopping: 'info',
  changed: 'info',
  redriving: 'info',
  redriven: 'good',
}

export function Badge({ text, tone }: { text: string; tone?: string | undefined }) {
  return <span class={`badge ${tone ?? TONES[text] ?? 'plain'}`}>{text.replaceAll('_', ' ')}</span>
}

export function Figure({ name, children, note }: { name: string; children: ComponentChildren; note?: string }) {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd title={note}>{children}</dd>
    </div>
  )
}

/** A table that scrolls by itself where the page is narrow. Columns of numbers begin with `#`; without columns there is no head. */
export function Table({
  label,
  columns = [],
  children,
  tableRef,
  isFramed = false,
}: {
  label: string
  columns?: string[]
  children: ComponentChildren
  tableRef?: RefObject<HTMLTableElement | null>
  /** Long ones scroll in a frame of their own. */
  isFramed?: boolean
}) {
  return (
    <div class={isFramed ? 'scroll framed' : 'scroll'} tabIndex={0} role="region" aria-label={label}>
      <table ref={tableRef ?? null}>
        {columns.length > 0 && (
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column} scope="col" class={column.startsWith('#') ? 'number' : undefined}>
                  {column.replace('#', '')}
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}

/** A dialog over the page; `onClose` is called when Escape or its button closes it. */
export function Dialog({ title, onClose, children }: { title: string; onClose(): void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    ref.current?.showModal()
  }, [])
  // Closing gives the focus back. The browser tells of it only later, when the same may have been opened again.
  const close = (): void => {
    ref.current?.close()
    onClose()
  }
  return (
    <dialog
      ref={ref}
      onClose={() => ref.current && onClose()}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        // A search field would take the first Escape to clear itself.
        event.preventDefault()
        close()
      }}
      aria-label={title}
    >
      <header>
        <h2>{title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={close}>
          ✕
        </button>
      </header>
      {children}
    </dialog>
  )
}

export function Field({
  name,
  hint,
  fault,
  children,
}: {
  name: string
  hint?: string | undefined
  fault?: string | undefined
  children: ComponentChildren
}) {
  return (
    <label class="field">
      <span>{name}</span>
      {children}
      {fault && (
        <small class="bad" role="alert">
          {fault}
        </small>
      )}
      {hint && <small>{hint}</small>}
    </label>
  )
}

/** Copies the text, and says so. */
export function Copy({ text }: { text: string }) {
  const [copied, setCopied] = useState<string>()
  // Browsers have no clipboard where the page came without TLS.
  if (!('clipboard' in navigator)) return null
  return (
    <button type="button" class="plain" onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(text))}>
      {copied === text ? 'copied' : 'copy'}
    </button>
  )
}

/** Text that is copied by a click. */
export function Copyable({ text }: { text: string }) {
  return (
    <span class="copyable">
      <code>{text}</code>
      <Copy text={text} />
    </span>
  )
}
