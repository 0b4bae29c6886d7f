/** A process of its own for the lying servers: it opens those whose numbers it is given, and prints a port for each. */
import { LIES, openLiar } from './index.ts'

const numbers = process.argv.slice(2).map(Number)
const ports: [number, number][] = []
for (const number of numbers) ports.push([number, (await openLiar(LIES[number]!)).port])
process.stdout.write(`${JSON.stringify(ports)}\n`)
process.stdin.resume().on('end', () => process.exit(0))
