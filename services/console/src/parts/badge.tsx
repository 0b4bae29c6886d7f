/** A status or an outcome, in its colour. */
const TONES: Record<string, string> = {
  running: 'good',
  active: 'good',
  delivered: 'good',
  finished: 'good',
  passed: 'good',
  failed: 'bad',
  dead_letter: 'bad',
  error: 'bad',
  paused: 'warn',
  warn: 'warn',
  starting: 'info',
  stopping: 'info',
  changed: 'info',
  redriving: 'info',
  redriven: 'good',
}

export function Badge({ text, tone }: { text: string; tone?: string | undefined }) {
  return <span class={`badge ${tone ?? TONES[text] ?? 'plain'}`}>{text.replaceAll('_', ' ')}</span>
}
