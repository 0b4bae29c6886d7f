/** A number with its name. */
import type { ComponentChildren } from 'preact'

export function Figure({ name, children, note }: { name: string; children: ComponentChildren; note?: string }) {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd title={note}>{children}</dd>
    </div>
  )
}
