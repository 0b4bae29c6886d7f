/** The title of a screen, with what can be done beside it. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

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
