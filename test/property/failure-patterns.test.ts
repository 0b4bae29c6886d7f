/** What messages of failures have in common: texts and numbers of their records are left out. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { patternOf } from '../../services/control-plane/dead-letters/pattern.ts'
import { PATTERN_CHARACTERS_MAX } from '../../shared/model/text.ts'

describe('the pattern of a message', () => {
  it.each([
    ['the field id is not an integer: "three"', 'the field id is not an integer: …'],
    ['key "a" is not "b"', 'key … is not …'],
    ['an empty "" text', 'an empty … text'],
    // Escaped quotes and backslashes.
    [String.raw`"say \"hi\"" is no date`, '… is no date'],
    [String.raw`"C:\\" is no date: "x"`, '… is no date: …'],
    // A message is cut within a text, perhaps behind a backslash.
    ['the field note is not a date: "30. of Febru', 'the field note is not a date: …'],
    [String.raw`not a date: "30\ `.trim(), 'not a date: …'],
    ['"', '…'],
    ['took 1,234.50 of 1.234,50 and -5', 'took … of … and …'],
    ['1e-9 < 3.5E+7, after 12ms', '… < …, after …ms'],
    ['a full stop after 42.', 'a full stop after ….'],
    ['at 10:00 on 2026-11-22', 'at …:… on …-…-…'],
    ['٣ of ४', '… of …'],
    // Digits of names.
    ['the field address2 is not an int64: 5', 'the field address2 is not an int64: …'],
    ['the field größe2 of row_3', 'the field größe2 of row_3'],
    ['nothing of a record', 'nothing of a record'],
  ])('%s → %s', (message, pattern) => {
    expect(patternOf(message)).toBe(pattern)
  })

  it('is none where the message is empty', () => {
    expect(patternOf('')).toBeNull()
  })

  it('is cut to whole characters', () => {
    const most = 'x'.repeat(PATTERN_CHARACTERS_MAX - 1)
    expect(patternOf(most)).toBe(most)
    expect(patternOf(`${most}yz`)).toBe(`${most}…`)
    expect(patternOf(`${most.slice(1)}😀 and more`)).toBe(`${most.slice(1)}…`)
  })

  const message = fc.string({ unit: 'grapheme', maxLength: 400 }).filter((text) => text.isWellFormed())

  it('can be stored, fits into a filter, and is its own pattern', () => {
    fc.assert(
      fc.property(fc.oneof(message, fc.stringMatching(/^[a9"\\., -]{0,300}$/)), (text) => {
        fc.pre(text !== '')
        const pattern = patternOf(text) ?? ''
        expect([pattern.isWellFormed(), pattern.length <= PATTERN_CHARACTERS_MAX]).toEqual([true, true])
        expect(patternOf(pattern)).toBe(pattern)
      }),
    )
  })

  it('is the same whatever the text in quotes, as JSON writes it, and the number', () => {
    fc.assert(
      fc.property(message, fc.double({ noNaN: true, noDefaultInfinity: true }), (text, number) => {
        expect(patternOf(`the field a is ${JSON.stringify(text)}, not ${number}`)).toBe('the field a is …, not …')
      }),
    )
  })
})
