/**
 * A process of its own for the lying servers: it opens those whose numbers it is given, and prints a port for each. Once its input ends it
 * prints how many connections each has had, and exits.
 */
import { LIES, openLiar, type Liar } from './index.ts'

const liars = new Map<number, Liar>()
for (const number of process.argv.slice(2).map(Number)) liars.set(number, await openLiar(LIES[number]!))
const print = (what: (liar: Liar) => number, then?: () => void) =>
  process.stdout.write(`${JSON.stringify([...liars].map(([number, liar]) => [number, what(liar)]))}\n`, then)
print(({ port }) => port)
process.stdin.resume().on('end', () =>
  print(
    ({ connections }) => connections(),
    () => process.exit(0),
  ),
)
