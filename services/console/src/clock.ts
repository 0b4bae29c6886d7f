/** How times are shown: as their distance from now, in UTC, or as the clock here shows them. */
import { signal } from '@preact/signals'

const WAYS = ['ago', 'UTC', 'local'] as const
const stored = localStorage.getItem('dps-times')

export const clock = signal<(typeof WAYS)[number]>(WAYS.find((way) => way === stored) ?? 'ago')
clock.subscribe((way) => localStorage.setItem('dps-times', way))

/** One timer for all times on the page. */
export const now = signal(Date.now())
setInterval(() => (now.value = Date.now()), 1000)

/** The next way, after the last one the first. */
export const turnClock = (): void => {
  clock.value = WAYS[(WAYS.indexOf(clock.value) + 1) % WAYS.length]!
}
