/**
 * The buttons that a pipeline has in each status. The service allows more (docs/specs/pipeline-status.md): none is offered for what passes
 * by itself, but `stop`, nor for what another one does.
 */
export const OFFERED_ACTIONS: Record<string, readonly string[]> = {
  created: ['start'],
  stopped: ['start'],
  failed: ['start', 'stop'],
  running: ['pause', 'stop', 'restart'],
  starting: ['stop'],
  pausing: ['stop'],
  paused: ['resume', 'stop'],
}
