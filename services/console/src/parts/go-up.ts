/** Escape goes up: from a record to its pipeline, from a pipeline or a stream to the list. */
import { useLocation } from 'preact-iso'
import { useEffect } from 'preact/hooks'
import { HOME } from '../api.ts'
import { mayLeave } from '../unsaved.ts'

/** The page above this one, below the console's own address; undefined for a list. */
function pageAbove(page: string): string | undefined {
  const [list = '', id, ...more] = page.split('/').filter(Boolean)
  if (id === undefined) return undefined
  if (more.length > 0) return `${list}/${id}`
  return list === 'pipelines' ? '' : list
}

/** What takes Escape itself: fields, the code editor, and what is open over the page. */
const isTaken = ({ target, defaultPrevented }: KeyboardEvent): boolean =>
  defaultPrevented ||
  (target instanceof Element && target.closest('input, textarea, select, .code') !== null) ||
  document.querySelector('dialog[open], :popover-open') !== null

export function useGoUp(): void {
  const { path, route } = useLocation()
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape' || isTaken(event)) return
      const above = pageAbove(path.slice(HOME.pathname.length))
      if (above !== undefined && mayLeave()) route(HOME.pathname + above)
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [path])
}
