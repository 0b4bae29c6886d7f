/** Libraries print what servers of accounts send: in a child process nothing but its own logger writes into the operator's log. */

/** Makes the console of this process print nothing. */
export function muteConsole(): void {
  const nothing = (): void => {}
  Object.assign(console, {
    log: nothing,
    info: nothing,
    debug: nothing,
    warn: nothing,
    error: nothing,
    trace: nothing,
    dir: nothing,
    table: nothing,
  })
}
