/** An operation of the control plane: its contract and its handler. */
import type { Contract, Input, Output } from '../../../shared/api/contract.ts'
import type { Caller, Deps, Reply } from '../deps.ts'

export type Operation = { contract: Contract; handle(deps: Deps, caller: Caller, input: never): Promise<Reply> }

/** Binds a handler to its contract, so that its input and its reply have the contract's types. */
export function operation<const C extends Contract>(
  contract: C,
  handle: (deps: Deps, caller: Caller, input: Input<C>) => Promise<Output<C>>,
): { contract: C; handle(deps: Deps, caller: Caller, input: Input<C>): Promise<Reply> } {
  return { contract, handle }
}
