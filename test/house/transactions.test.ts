/** The rule about transactions on the database: while one is open, its rows are locked, and no other system may keep it waiting. */
import { describe, expect, it } from 'vitest'
import { read, tracked } from './repository.ts'

describe('database transactions', () => {
  /** Files whose transaction holds a lock while Kafka is asked, and why nothing else would do. */
  const HOLDS_ITS_LOCK: Record<string, string> = {
    'services/control-plane/publisher/publisher.ts': 'the rows of the outbox are taken only once Kafka has them',
    'services/control-plane/reconciler/reconciler.ts': 'an advisory lock for the whole pass, and no row',
    'services/control-plane/upkeep/keep-offsets.ts': 'the row keeps POST …/offsets out between reading offsets and committing them',
    'services/control-plane/store/database.ts': '`inTransaction`, whose callers are looked at',
    'services/control-plane/routes/pipelines/reset-offsets.ts': 'the row keeps the pipeline from starting while its group is moved',
  }
  /** What leads to another system; a transaction is given rows and values that were found before it. */
  const NETWORK = /\b(deps(?!\.(names|secretBox|log)\b)|cluster|registry|withAdmin|connections|producer|fetch\w*|withDeadline)\b/

  const CLOSES: Record<string, string> = { '{': '}', '(': ')' }
  /** The text from the first `opening` on to the bracket that closes it. */
  function blockAt(text: string, from: number, opening: '{' | '('): string {
    let depth = 0
    for (let at = text.indexOf(opening, from); at < text.length; at++) {
      if (text[at] === opening) depth++
      else if (text[at] === CLOSES[opening] && --depth === 0) return text.slice(from, at)
    }
    return text.slice(from)
  }

  /**
   * What a transaction runs: the function given to the call, or the one of the same file that it names; undefined where neither is found.
   */
  function transactionBody(text: string, from: number): string | undefined {
    const call = blockAt(text, from, '(').replace(/^inTransaction\(\s*(?:deps\.)?db,\s*/, '(')
    if (call.includes('=>')) return call
    const name = /\(\s*(\w+),?\s*$/.exec(call)?.[1]
    const named = name === undefined ? null : new RegExp(`(const ${name} = async \\(|function ${name}\\()`).exec(text)
    return named ? blockAt(text, named.index, '{') : undefined
  }

  it('ask no other system while they are open', () => {
    let count = 0
    const wrong = tracked
      .filter((path) => /^(services|shared)\/.*\.ts$/.test(path) && !Object.hasOwn(HOLDS_ITS_LOCK, path))
      .flatMap((path) => {
        const text = read(path)
        // Without arguments it is a transaction of Kafka's.
        return [...text.matchAll(/(?:\.transaction(?:<[^>]*>)?|\binTransaction)\((?!\))/g)].flatMap(({ index }) => {
          count++
          const place = `${path}:${text.slice(0, index).split('\n').length}`
          const body = transactionBody(text, index)
          if (body === undefined) return [`${place} is given a function that is not in the same file`]
          const found = NETWORK.exec(body)
          return found ? [`${place} uses ${found[0]} inside a transaction`] : []
        })
      })
    expect(count).toBeGreaterThan(40)
    expect(wrong).toEqual([])
  })
})
