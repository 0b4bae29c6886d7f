/** A field of a form, with its name, its hint and what is wrong with it. */
import type { ComponentChildren } from 'preact'

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
