/** How times are shown: as their distance from now, in UTC, or as the clock here shows them. */
import { signal } from '@preact/signals'

const WAYS = ['ago', 'UTC', 'local'] as const
const stored = localStorage.getItem('dps-times')

export const clock = signal<(typeof WAYS)[number]>(WAYS.find((way) => way === stored) ?? 'ago')
clock.subscribe((way) => localStorage.setItem('dps-times', way))

/** The next way, after the last one the first. */
export const turnClock = (): void => {
  clock.value = WAYS[(WAYS.indexOf(clock.value) + 1) % WAYS.length]!
}
