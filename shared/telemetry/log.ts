/** Structured logs: one JSON line each, secrets removed. */
import { pino, type Logger } from 'pino'

export type { Logger }

/** A logger for a service. Fields that could carry credentials are redacted wherever they stand. */
export function createLogger(service: string, level: string): Logger {
  return pino({
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: {
      paths: ['*.api_secret', '*.authorization', '*.password', 'api_secret', 'authorization', 'password', 'req.headers.authorization'],
      censor: '[redacted]',
    },
  })
}
