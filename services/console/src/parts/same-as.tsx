/** Under a form: the same by other ways, so that what is clicked once can be a script or a file the next time. */
import { useState } from 'preact/hooks'

export type Ways = Partial<Record<'curl' | 'dps' | 'YAML', string>>

/** `ways` is asked only while they are shown. It may throw for what is not complete yet. */
export function SameAs({ ways }: { ways(): Ways }) {
  const [isOpen, setIsOpen] = useState(false)
  const [chosen, setChosen] = useState<keyof Ways>('curl')
  const [isCopied, setIsCopied] = useState(false)
  let texts: Ways = {}
  try {
    if (isOpen) texts = ways()
  } catch {
    // The form itself says what is wrong with it.
  }
  const names = Object.keys(texts) as (keyof Ways)[]
  const name = names.includes(chosen) ? chosen : names[0]
  const text = name === undefined ? undefined : texts[name]
  return (
    <details class="same-as" onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>The same as {'curl, dps or YAML'}</summary>
      {isOpen && text === undefined && <p class="quiet">Fill in the form first.</p>}
      {isOpen && text !== undefined && (
        <>
          <div class="actions">
            {names.map((each) => (
              <button
                key={each}
                type="button"
                class="plain"
                aria-pressed={each === name}
                onClick={() => {
                  setChosen(each)
                  setIsCopied(false)
                }}
              >
                {each}
              </button>
            ))}
            <button type="button" class="plain" onClick={() => void navigator.clipboard.writeText(text).then(() => setIsCopied(true))}>
              {isCopied ? 'copied' : 'copy'}
            </button>
          </div>
          <pre tabIndex={0} aria-label={`The same as ${name}`}>
            {text}
          </pre>
        </>
      )}
    </details>
  )
}
