/** What was written and is not saved: one is asked before it is left behind. */
import { useLocation } from 'preact-iso'
import { useLayoutEffect } from 'preact/hooks'
import { HOME } from './api.ts'

/** How many forms on the page hold something. */
let held = 0
/** Where they are. */
let place = ''

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

// Both while the events are captured: before the router follows them.
addEventListener(
  'click',
  (event) => {
    if (!isLeaving(event) || mayLeave()) return
    event.preventDefault()
    event.stopPropagation()
  },
  true,
)
addEventListener(
  'popstate',
  (event) => {
    if (held === 0 || location.pathname + location.search === place || mayLeave()) return
    event.stopImmediatePropagation()
    // Back and Forward have moved already, and don't say which of them it was: the form gets a place after the one that they led to.
    history.pushState(null, '', place)
  },
  true,
)

/** Asks before one leaves the page, or the screen by a link, Back or Forward, while there is something that was not saved. */
export function useUnsaved(isUnsaved: boolean): void {
  const { url } = useLocation()
  // At once: the next click may be the one.
  useLayoutEffect(() => {
    if (!isUnsaved) return
    held++
    place = url
    return () => void held--
  }, [isUnsaved, url])
}
