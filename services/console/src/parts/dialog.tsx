/** Dialogs. */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

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
