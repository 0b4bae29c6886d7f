/** `j` and `k` move through the links of a table's rows, as in a terminal; Enter follows the one that has the focus. */
import { useEffect, useRef } from 'preact/hooks'

const isTyping = ({ target }: Event): boolean => target instanceof HTMLElement && /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName)

/** Of the link that had the focus last, also on a page that was left and is shown again. */
let last: string | undefined

export function useRowKeys() {
  const table = useRef<HTMLTableElement>(null)
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if ((event.key !== 'j' && event.key !== 'k') || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return
      const links = [...(table.current?.querySelectorAll<HTMLElement>('tbody tr') ?? [])].flatMap((row) => row.querySelector('a') ?? [])
      const focused = links.indexOf(document.activeElement as HTMLAnchorElement)
      const at = focused < 0 ? links.findIndex(({ href }) => href === last) : focused
      const next = links[event.key === 'j' ? at + 1 : Math.max(0, at - 1)]
      if (!next) return
      event.preventDefault()
      last = next.href
      next.focus()
      next.scrollIntoView({ block: 'nearest' })
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  return table
}
