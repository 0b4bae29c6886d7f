/** `make run`: the whole service on this machine, then the tour, then it keeps serving until Ctrl-C. */
import { launch, type Launched } from './launcher.ts'
import { openStackFile, type Accounts, type TourState } from './stack-file.ts'
import { runTour } from './tour/tour.ts'

const say = (line: string): void => void process.stdout.write(`${line}\n`)
const processors = Number(process.env.PROCESSORS ?? 1)
const wantsTour = process.env.TOUR !== '0'
const stackFile = openStackFile()
let launched: Launched | undefined
let accounts: Accounts | undefined
let tour: TourState = wantsTour ? 'running' : 'off'
let stopping: Promise<void> | undefined

async function writeStackFile(): Promise<void> {
  if (launched && accounts && !stopping) await stackFile.write(launched, accounts, tour)
}

async function stop(code: number): Promise<void> {
  say('stopping')
  await stackFile.remove()
  await (await starting.catch(() => undefined))?.close()
  await stackFile.remove()
  process.exit(code)
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void (stopping ??= stop(0)))

if (!Number.isInteger(processors) || processors < 1 || processors > 16) {
  say('PROCESSORS must be a number from 1 to 16')
  process.exit(2)
}
say(
  `starting Kafka, Postgres, Redis, a schema registry, a bucket, the control plane and ${processors} processor${processors > 1 ? 's' : ''}`,
)
const starting = launch({
  processors,
  port: Number(process.env.PORT ?? 8080),
  say,
  onChange: () => void writeStackFile().catch((error: unknown) => say(String(error))),
})

try {
  launched = await starting
  const [enterprise, developer, professional] = await Promise.all([
    launched.createAccount('Tour Company', 'enterprise', true),
    launched.createAccount('Developer', 'developer'),
    launched.createAccount('Professional', 'professional'),
  ])
  accounts = { enterprise, developer, professional }
  await writeStackFile()
  if (wantsTour) {
    await runTour(launched, enterprise, say)
    tour = 'done'
    await writeStackFile()
  }
  say('')
  say(`API       ${launched.apiUrl}/api/v1   (docs: ${launched.apiUrl}/docs)`)
  say(`Kafka     ${launched.stack.kafkaBrokers.join(',')}   registry: ${launched.stack.registryUrl}`)
  say(`bucket    ${launched.stack.bucket.endpoint}/${launched.stack.bucket.name}   warehouse: in ${stackFile.path}`)
  say(`metrics   ${launched.metricsUrls.join('  ')}`)
  say(`keys      ${stackFile.path}`)
  say('serving; Ctrl-C stops everything')
} catch (error) {
  if (!stopping) {
    say(`could not start: ${error instanceof Error ? error.message : String(error)}`)
    stopping = stop(1)
  }
}
