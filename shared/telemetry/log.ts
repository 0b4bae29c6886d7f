/** Structured logs: one JSON line per entry. Fields named like credentials are removed; texts are masked where they come from. */
import { pino, type Logger } from 'pino'
import { openLogOutput } from './log-output.ts'

/** A pino logger. */
export type { Logger }

/** A logger for a service. Fields that could carry credentials are redacted at the top level and one level below. */
export function createLogger(service: string, level: string): Logger {
  const options = {
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: {
      paths: ['*.api_secret', '*.authorization', '*.password', 'api_secret', 'authorization', 'password', 'req.headers.authorization'],
      censor: '[redacted]',
    },
  }
  return pino(options, openLogOutput(process.stdout.fd))
}
