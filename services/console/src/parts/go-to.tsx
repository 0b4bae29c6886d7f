/** Ctrl-K: to any pipeline, stream or screen by a few letters of its name. */
import { useLocation } from 'preact-iso'
import { useEffect, useState } from 'preact/hooks'
import type {
  GetOverviewResponse,
  ListSmartModulesResponse,
  ListStreamsResponse,
} from '../../../../clients/typescript/src/generated/types.ts'
import { HOME } from '../api.ts'
import { useAll, useQuery } from '../query.ts'
import { ownScreens } from './screens.ts'
import { mayLeave } from '../unsaved.ts'
import { Dialog } from './dialog.tsx'

type Place = { name: string; kind: string; path: string }

const SHOWN = 12

function Finder({ onClose }: { onClose(): void }) {
  const { route } = useLocation()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const pipelines = useQuery<GetOverviewResponse>('/overview').data?.pipelines ?? []
  const streams = useAll<ListStreamsResponse>('/streams').data?.streams ?? []
  const modules = useAll<ListSmartModulesResponse>('/smartmodules').data?.modules ?? []
  const places: Place[] = [
    ...pipelines.map(({ id, name }) => ({ name, kind: 'pipeline', path: `pipelines/${id}` })),
    ...streams.map(({ id, name }) => ({ name, kind: 'stream', path: `streams/${id}` })),
    ...modules.map(({ id, name }) => ({ name, kind: 'SmartModule', path: `smartmodules/${id}` })),
    ...ownScreens().map(({ name, path }) => ({ name, kind: 'screen', path })),
  ]
  const wanted = text.toLowerCase()
  const isExact = ({ name }: Place): number => (name.toLowerCase() === wanted ? 0 : 1)
  const found = places
    .filter(({ name }) => name.toLowerCase().includes(wanted))
    .toSorted((a, b) => isExact(a) - isExact(b))
    .slice(0, SHOWN)
  const go = (place: Place | undefined): void => {
    if (!place || !mayLeave()) return
    onClose()
    route(HOME.pathname + place.path)
  }
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        type="search"
        aria-label="Name of a pipeline, stream or screen"
        role="combobox"
        list={undefined}
        aria-expanded="true"
        aria-controls="places"
        aria-activedescendant={found[at] ? `place-${at}` : undefined}
        autoFocus
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value)
          setAt(0)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') go(found[at])
          if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
          event.preventDefault()
          setAt(Math.min(Math.max(0, at + (event.key === 'ArrowDown' ? 1 : -1)), Math.max(0, found.length - 1)))
        }}
      />
      <ul id="places" role="listbox" aria-label="Places" class="places">
        {found.map((place, index) => (
          <li key={place.path} id={`place-${index}`} role="option" aria-selected={index === at} onClick={() => go(place)}>
            {place.name} <small>{place.kind}</small>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="quiet">Nothing has this name.</p>}
    </Dialog>
  )
}

export function GoTo() {
  const [isOpen, setIsOpen] = useState(false)
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== 'k' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      setIsOpen(true)
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  return (
    <>
      <button type="button" class="plain" title="Ctrl-K" onClick={() => setIsOpen(true)}>
        go to…
      </button>
      {isOpen && <Finder onClose={() => setIsOpen(false)} />}
    </>
  )
}
