/** A button that removes something for good, once one has said so twice. */
import { useState } from 'preact/hooks'
import { remove } from '../api.ts'
import { useAction } from '../query.ts'
import { may } from '../session.ts'
import { Refused } from './failures.tsx'

/** `what` it does, in a word; it is not there without the scope. */
export function Remove({ what, scope, path, onDone }: { what: string; scope: Parameters<typeof may>[0]; path: string; onDone(): void }) {
  const { run, isBusy, failure } = useAction()
  const [isSure, setIsSure] = useState(false)
  if (!may(scope)) return null
  return (
    <>
      {isSure ? (
        <>
          <button type="button" class="plain" onClick={() => setIsSure(false)}>
            keep
          </button>
          <button type="button" class="danger" disabled={isBusy} onClick={() => void run(() => remove(path).then(onDone))}>
            Yes, {what}
          </button>
        </>
      ) : (
        <button type="button" class="plain" onClick={() => setIsSure(true)}>
          {what}
        </button>
      )}
      <Refused failure={failure} />
    </>
  )
}
