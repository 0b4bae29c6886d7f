/** What the console's audit log can be narrowed to. */
import { expect, it } from 'vitest'
import { isAudited } from '../../services/control-plane/middleware/audit.ts'
import { OPERATIONS } from '../../services/control-plane/routes/index.ts'
import { AUDITED } from '../../services/console/src/audited-operations.ts'

/** Logged by `logOperator` and `signIns`. */
const OTHERS = ['createAccount', 'createSession', 'resumeAccount', 'setQuotas', 'suspendAccount']

it('offers all operations that the log has entries of, in their order', () => {
  const logged = OPERATIONS.map(({ contract }) => contract)
    .filter(isAudited)
    .map(({ id }) => id)
  expect(AUDITED).toEqual([...new Set([...logged, ...OTHERS])].sort())
})
