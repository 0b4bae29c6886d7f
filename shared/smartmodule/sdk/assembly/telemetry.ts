/** What a module says beside its records: lines and numbers. */

/**
 * Logs a line: shown by `POST /smartmodules/test`, preview and explain, and by `GET /pipelines/{id}/logs` of a running pipeline.
 * `level` is debug, info, warn or error.
 */
export function log(message: string, level: string = 'info'): void {
  if (level == 'warn') console.warn(message)
  else if (level == 'error') console.error(message)
  else if (level == 'debug') console.debug(message)
  else console.log(message)
}

// @ts-ignore: decorator
@external('dps', 'count')
declare function hostCount(name: usize, length: i32, value: f64): void
// @ts-ignore: decorator
@external('dps', 'observe')
declare function hostObserve(name: usize, length: i32, value: f64): void

/**
 * Adds to a number of the pipeline's metrics. A name has lower-case letters, digits and underscores; a step has 20 names. A record that is
 * run again is counted again.
 */
export function count(name: string, value: f64 = 1.0): void {
  const bytes = String.UTF8.encode(name)
  hostCount(changetype<usize>(bytes), bytes.byteLength, value)
}

/** Adds a value to a sum of the pipeline's metrics, which counts its values too: what a step sees of sizes, prices, ages. */
export function observe(name: string, value: f64): void {
  const bytes = String.UTF8.encode(name)
  hostObserve(changetype<usize>(bytes), bytes.byteLength, value)
}
