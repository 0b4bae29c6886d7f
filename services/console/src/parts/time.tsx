/** Times, as the page's clock has them. */
import { computed } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { clock, now } from '../clock.ts'
import { ago, local, utc } from '../format.ts'

/** A time as `clock` has it; all of it, in UTC and here, is in the tooltip. */
export function Time({ at }: { at: string }) {
  // A signal as a text: as time goes by, the text changes without the page being drawn again.
  const text = useMemo(
    () => computed(() => (clock.value === 'ago' ? ago(at, now.value) : clock.value === 'UTC' ? utc(at) : local(at))),
    [at],
  )
  return (
    <time dateTime={at} title={`${utc(at)}\n${local(at)} here`}>
      {text}
    </time>
  )
}
