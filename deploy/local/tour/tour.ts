import type { Account } from '../launcher.ts'
export async function runTour(_apiUrl: string, _account: Account, say: (line: string) => void): Promise<void> { say('tour') }
