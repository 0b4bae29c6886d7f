/**
 * `make run`: starts the whole service on this machine, takes the tour, then serves until Ctrl-C. Data are kept in `.local/data`;
 * FRESH=1 deletes them and starts over.
 */
import { reasonOf } from '../../shared/errors/reason-of.ts'
import { launch, type Launched } from './launcher.ts'
import { buildWebPages } from './web-pages.ts'
import { discardHome } from './fresh.ts'
import { HomeInUse, openKeptHome, openTemporaryHome, type Home } from './home.ts'
import { LOCAL_FOLDER, LOCAL_OWNER, openStackFile, type Accounts, type TourState } from './stack-file.ts'
import { discardTour, runTour } from './tour/tour.ts'
import { showWhatIsThere } from './tour/what-is-there.ts'

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
  say('stopping everything')
  await stackFile.remove()
  await (await starting.catch(() => undefined))?.close()
  await stackFile.remove()
  process.exit(code)
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void (stopping ??= stop(0)))

if (!Number.isInteger(processors) || processors < 1 || processors > 16) {
  say('PROCESSORS must be a whole number from 1 to 16')
  process.exit(2)
}
say(
  `starting Kafka, Postgres, Redis, a schema registry, a bucket, the control plane and ${processors} processor${processors > 1 ? 's' : ''}`,
)
/** A second start beside a running one gets a temporary home. */
async function openHome(): Promise<Home> {
  try {
    const home = await openKeptHome(LOCAL_FOLDER)
    return process.env.FRESH === '1' ? await discardHome(home, () => openKeptHome(LOCAL_FOLDER)) : home
  } catch (error) {
    if (!(error instanceof HomeInUse)) throw error
    say(`${error.message}; this start uses temporary data, which are deleted when it stops`)
    return openTemporaryHome()
  }
}

const opening = openHome()
const starting = opening.then(async (home) => {
  await buildWebPages()
  return launch({
    home,
    processors,
    port: Number(process.env.PORT ?? 8080),
    say,
    onChange: () => void writeStackFile().catch((error: unknown) => say(String(error))),
  })
})

async function createAccounts({ createAccount }: Launched): Promise<Accounts> {
  const [enterprise, developer, professional] = await Promise.all([
    createAccount('Tour Company', 'enterprise', true),
    createAccount('Developer', 'developer'),
    createAccount('Professional', 'professional'),
  ])
  return { enterprise, developer, professional }
}

try {
  const home = await opening
  launched = await starting
  const own = launched
  accounts = await home.recall('accounts', () => createAccounts(own))
  await writeStackFile()
  if (home.known('tour') === 'done') {
    tour = 'done'
    await showWhatIsThere(launched.apiUrl, accounts.enterprise, say)
  } else if (wantsTour) {
    // An interrupted tour has left things whose names this one needs.
    if (home.known('tour begun')) await discardTour(launched, accounts.enterprise)
    await home.recall('tour begun', () => true)
    await runTour(launched, accounts.enterprise, say)
    await home.recall('tour', () => 'done')
    tour = 'done'
  }
  await writeStackFile()
  say('')
  say(
    `console   ${launched.apiUrl}${await launched.signInPath(accounts.enterprise.account_id, LOCAL_OWNER)}   (signs in once; again: make link)`,
  )
  say(`API       ${launched.apiUrl}/api/v1   (docs: ${launched.apiUrl}/docs)`)
  say(`Kafka     ${launched.stack.kafkaBrokers.join(',')}   registry: ${launched.stack.registryUrl}`)
  const { bucket } = launched.stack
  say(`bucket    ${bucket.endpoint === '' ? bucket.name : `${bucket.endpoint}/${bucket.name}`}   warehouse: see ${stackFile.path}`)
  say(`metrics   ${launched.metricsUrls.join('  ')}`)
  say(`keys      ${stackFile.path}`)
  say(`logs      ${home.logs}`)
  say(`data      ${home.isKept ? `${home.folder} (make run FRESH=1 deletes it and starts over)` : 'temporary, deleted when this stops'}`)
  say('serving; Ctrl-C stops everything')
} catch (error) {
  if (!stopping) {
    say(`could not start: ${reasonOf(error)}`)
    stopping = stop(1)
  }
}
