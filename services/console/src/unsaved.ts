/** What was written and is not saved: one is asked before it is left behind. */
import { useLayoutEffect } from 'preact/hooks'
import { HOME } from './api.ts'

/** How many forms on the page hold something. */
let held = 0

/** Asks before what was not saved is left behind. */
export const mayLeave = (): boolean => held === 0 || confirm('What you have written here is not saved. Leave it?')

/** Loads the page anew without the browser's question: one was asked already. */
export function reloadUnasked(): void {
  held = 0
  location.reload()
}

addEventListener('beforeunload', (event) => held > 0 && event.preventDefault())

/** Whether the click follows a link to another screen, in this tab. The browser asks by itself before it leaves the console. */
function isLeaving({ target, button, ctrlKey, metaKey, altKey, shiftKey }: MouseEvent): boolean {
  const link = target instanceof Element && target.closest('a')
  if (!link || button !== 0 || ctrlKey || metaKey || altKey || shiftKey) return false
  return link.href.startsWith(HOME.href) && !link.target && !link.getAttribute('href')?.startsWith('#')
}

// While it is captured: before the router follows it.
addEventListener(
  'click',
  (event) => {
    if (!isLeaving(event) || mayLeave()) return
    event.preventDefault()
    event.stopPropagation()
  },
  true,
)

/** Asks before one leaves the page, or the screen by a link, while there is something that was not saved. */
export function useUnsaved(isUnsaved: boolean): void {
  // At once: the next click may be the one.
  useLayoutEffect(() => {
    if (!isUnsaved) return
    held++
    return () => void held--
  }, [isUnsaved])
}
