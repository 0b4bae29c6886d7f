/** Text that can be copied. */
import { useState } from 'preact/hooks'

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
