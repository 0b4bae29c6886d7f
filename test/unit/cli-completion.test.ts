/** What a shell completes of `dps`, by the shell itself. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const run = promisify(execFile)
const DPS = join(import.meta.dirname, '..', '..', 'clients', 'cli', 'src', 'main.ts')
const script = async (shell: string): Promise<string> => (await run(process.execPath, ['--no-warnings', DPS, 'completion', shell])).stdout

/** What bash offers for the last of these words. */
async function offered(...words: string[]): Promise<string[]> {
  const ask = `${await script('bash')}\nCOMP_WORDS=(dps ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _dps; printf '%s\\n' "\${COMPREPLY[@]}"`
  return (await run('bash', ['-c', ask])).stdout.split('\n').filter((line) => line !== '')
}

describe('completion in bash', () => {
  it('offers commands, subcommands and options', async () => {
    expect(await offered('exp')).toEqual(['explain', 'export'])
    expect(await offered('dlq', '')).toEqual(expect.arrayContaining(['groups', 'list', 'redrive']))
    expect(await offered('replay', 'some-pipeline', '--wa')).toEqual(['--wait'])
    expect(await offered('list', 'st')).toEqual(['streams'])
    expect(await offered('delete', 's')).toEqual(['streams', 'smartmodules', 'secrets'])
    expect(await offered('completion', 'b')).toEqual(['bash'])
    expect(await offered('-o', 'js')).toEqual(['json'])
    expect(await offered('dlq', 'list', 'some-pipeline', '--status', 're')).toEqual(['redriving', 'redriven'])
    // What any text may follow is left to the shell.
    expect(await offered('--profile', '')).toEqual([])
    expect(await offered('tail', 'some-pipeline', '--at', '')).toEqual([])
    expect(await offered('get', 'streams', '')).not.toContain('streams')
    expect(await offered('-o', 'json', '--profile', 'shop', 'exp')).toEqual(['explain', 'export'])
    expect(await offered('list', '-o', 'json', 'st')).toEqual(['streams'])
  })

  it('is there for zsh and fish', async () => {
    expect(await script('zsh')).toContain('compdef _dps dps')
    expect(await script('fish')).toContain("-a 'redrive'")
    expect(await script('zsh')).toContain('compadd -- table json yaml ndjson')
  })
})
