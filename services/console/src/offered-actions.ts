/** What may be asked of a pipeline in each status: of the service's transitions, those that change something, and that a person wants. */
export const OFFERED_ACTIONS: Record<string, readonly string[]> = {
  created: ['start'],
  stopped: ['start'],
  failed: ['start', 'stop'],
  running: ['pause', 'stop', 'restart'],
  starting: ['stop'],
  paused: ['resume', 'stop'],
}
