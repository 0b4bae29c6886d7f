/** SCRAM logins at other clusters (RFC 5802), with a bound: each iteration that a server asks for keeps a thread of this process. */
import { saslScramSha, type ConnectionOptions } from '../../kafka/client-library.ts'

type Sasl = NonNullable<ConnectionOptions['sasl']>
type Scram = { mechanism: 'SCRAM-SHA-256' | 'SCRAM-SHA-512'; username: string; password: string }

/** Kafka's own brokers take at most 16,384 (org.apache.kafka.common.security.scram.internals.ScramMechanism); others have more. */
const ITERATIONS_MAX = 100_000

const BOUNDED: saslScramSha.ScramCryptoModule = {
  ...saslScramSha.defaultCrypto,
  hi(definition, password, salt, iterations) {
    if (iterations <= ITERATIONS_MAX) return saslScramSha.defaultCrypto.hi(definition, password, salt, iterations)
    return Promise.reject(new Error(`the broker asks for ${iterations} iterations of SCRAM, more than ${ITERATIONS_MAX}`))
  },
}

/** The login of a connection. A broker that asks for more iterations than any real one does is refused. */
export function boundedScram({ mechanism, username, password }: Scram): Sasl {
  const algorithm = mechanism === 'SCRAM-SHA-256' ? 'SHA-256' : 'SHA-512'
  return {
    mechanism,
    username,
    password,
    authenticate: (_mechanism, connection, authenticate, _username, _password, _token, callback) =>
      saslScramSha.authenticate(authenticate, connection, algorithm, username, password, BOUNDED, callback),
  }
}
