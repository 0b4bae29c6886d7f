/** Libraries print what servers of accounts send: in a child process nothing but its own logger writes into the operator's log. */

/** Makes the console of this process print nothing. */
export function silenceConsole(): void {
  const silent = (): void => {}
  Object.assign(console, {
    log: silent,
    info: silent,
    debug: silent,
    warn: silent,
    error: silent,
    trace: silent,
    dir: silent,
    table: silent,
  })
}
