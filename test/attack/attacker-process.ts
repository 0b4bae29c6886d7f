/** Makes the attacks that `attacker.ts` asks for. It ends with the process that started it. */
import { createKafka } from '../../shared/kafka/admin/admin.ts'
import { openAccount } from './account.ts'
import { deploy, prepareGround, tellLie, type Outcome } from './assaults.ts'
import type { Asked, AttackerPlace, Said } from './attacker.ts'
import { HOSTILE } from './modules/hostile-modules.ts'
import { LIES } from './servers/index.ts'

const { apiUrl, brokers, account, holdMs } = JSON.parse(process.argv[2]!) as AttackerPlace
const call = await openAccount(apiUrl, account)
const ground = await prepareGround(call, createKafka(brokers, 'attack'))
const say = (said: Said) => process.send!(said)

const attack = (asked: Asked): Promise<Outcome> =>
  asked.kind === 'module'
    ? deploy(call, ground, HOSTILE[asked.index]!, holdMs)
    : tellLie(call, ground, LIES[asked.index]!, asked.port, asked.index, holdMs)

process.on('message', async ({ number, asked }: { number: number; asked: Asked }) => say({ number, outcome: await attack(asked) }))
process.once('disconnect', () => process.exit())
say('ready')
