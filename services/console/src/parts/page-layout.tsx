/** The frame of every screen: where one is, who one is, and whether the service answers. */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { clock, turnClock } from '../clock.ts'
import { get, HOME } from '../api.ts'
import icon from '../icon.svg'
import { unanswered, useQuery } from '../query.ts'
import { GoTo } from './go-to.tsx'
import { useGoUp } from './go-up.ts'
import { hasEnded, isAsking, session, signOut } from '../session.ts'
import { ownScreens } from './screens.ts'

type Theme = 'light' | 'dark' | 'system'
const stored = localStorage.getItem('dps-theme')
export const theme = signal<Theme>(stored === 'light' || stored === 'dark' ? stored : 'system')
theme.subscribe((value) => {
  if (value === 'system') document.documentElement.removeAttribute('data-theme')
  else document.documentElement.dataset.theme = value
  localStorage.setItem('dps-theme', value)
})
const NEXT: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' }

function Links() {
  const { path } = useLocation()
  const here = path.slice(HOME.pathname.length)
  const isHere = (href: string): boolean => (href === '' ? here === '' || here.startsWith('pipelines') : here.startsWith(href))
  return (
    <nav aria-label="Main">
      {ownScreens()
        .filter(({ isMain }) => isMain)
        .map(({ name, path: href }) => (
          <a key={href} href={HOME.pathname + href} aria-current={isHere(href) ? 'page' : undefined}>
            {name}
          </a>
        ))}
    </nav>
  )
}

/** While the service hangs, its event stream stays open and silent, so the console asks now and then whether the service answers. */
const PULSE_MS = 10_000
const PATIENCE_MS = 8000
const getSoon = <T,>(path: string, signal: AbortSignal): Promise<T> =>
  get<T>(path, AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]))

export function PageLayout({ children }: { children: ComponentChildren }) {
  const { member, account } = session.value!
  useQuery('/session', PULSE_MS, getSoon)
  useGoUp()
  const { url } = useLocation()
  const [isOpen, setIsOpen] = useState(false)
  useEffect(() => setIsOpen(false), [url])
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          // The page has a base address, to which the link would lead.
          event.preventDefault()
          document.querySelector<HTMLElement>('#main')?.focus()
        }}
      >
        To the content
      </a>
      <header class={isOpen ? 'top open' : 'top'}>
        <a class="brand" href={HOME.pathname}>
          <img src={icon} alt="" width="20" height="20" /> <span>Data Pipeline Service</span>
        </a>
        <GoTo />
        <button type="button" class="plain menu" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          Menu
        </button>
        <Links />
        <div class="who">
          <a href={new URL('../docs/', HOME).href} target="_blank">
            Docs
          </a>
          <a class="you" href={`${HOME.pathname}you`} title={account.name}>
            {member?.name ?? 'key'} · {account.name}
          </a>
          <button type="button" class="plain" onClick={() => (theme.value = NEXT[theme.value])} title="Light, dark, or as the system">
            Theme: {theme.value}
          </button>
          <button type="button" class="plain" onClick={turnClock} title="How long ago, in UTC, or as the clock here shows them">
            Times: {clock.value}
          </button>
          <button type="button" class="plain" onClick={() => (hasEnded.value ? (isAsking.value = true) : void signOut())}>
            Sign {hasEnded.value ? 'in' : 'out'}
          </button>
        </div>
      </header>
      {unanswered.value > 0 && (
        <div class="away" role="status">
          Reconnecting: the service does not answer. What you see may be old.
        </div>
      )}
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </>
  )
}
