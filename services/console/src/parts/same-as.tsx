/** Under a form: the same by other ways, so that what is clicked once can be a script or a file the next time. */
import { useState } from 'preact/hooks'
import { Copy } from './copy.tsx'

export type Ways = Partial<Record<'curl' | 'dps' | 'YAML', string>>

/** `ways` is asked only while they are shown. It throws for what is not complete yet. */
export function SameAs({
  ways,
  of = 'curl',
  onOpen,
}: {
  ways(): Ways
  /** Which ways there are. */
  of?: string
  /** Reads what only the commands need. */
  onOpen?(): void
}) {
  const [isOpen, setIsOpen] = useState(false)
  const [chosen, setChosen] = useState<keyof Ways>('curl')
  let texts: Ways = {}
  try {
    if (isOpen) texts = ways()
  } catch {
    // The form says what is wrong with it once it is sent.
  }
  const names = Object.keys(texts) as (keyof Ways)[]
  const name = names.includes(chosen) ? chosen : names[0]
  const text = name === undefined ? undefined : texts[name]
  return (
    <details
      class="same-as"
      onToggle={({ currentTarget }) => {
        setIsOpen(currentTarget.open)
        if (currentTarget.open) onOpen?.()
      }}
    >
      <summary>The same as {of}</summary>
      {isOpen && text === undefined && <p class="quiet">The form is not complete, or has an error.</p>}
      {isOpen && text !== undefined && (
        <>
          <div class="actions">
            {names.map((each) => (
              <button key={each} type="button" class="plain" aria-pressed={each === name} onClick={() => setChosen(each)}>
                {each}
              </button>
            ))}
            <Copy text={text} />
          </div>
          <pre tabIndex={0} aria-label={`The same as ${name}`}>
            {text}
          </pre>
        </>
      )}
    </details>
  )
}
