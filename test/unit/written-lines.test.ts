/** What a program writes to its standard output and standard error becomes lines of the log, however it is cut. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { newCallSeed } from '../../shared/smartmodule/call-seed.ts'
import { hostFunctions } from '../../shared/smartmodule/imports.ts'

const BADF = 8

function open() {
  const memory = new WebAssembly.Memory({ initial: 2 })
  const lines: string[] = []
  const call = { ...newCallSeed({ log: (level, line) => void lines.push(`${level} ${line}`), measure: () => {} }), memory: () => memory }
  const { fd_write } = hostFunctions(call).wasi_snapshot_preview1 as Record<string, (...values: number[]) => number>
  const write = (fd: number, bytes: Uint8Array) => {
    new Uint8Array(memory.buffer).set(bytes, 1024)
    const view = new DataView(memory.buffer)
    view.setUint32(0, 1024, true)
    view.setUint32(4, bytes.length, true)
    return fd_write!(fd, 0, 1, 8)
  }
  return { write, lines, call }
}
const [OUTPUT, ERROR] = [1, 2]

it('a line is one, however many pieces it is written in', () => {
  const line = fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => text.replaceAll('\n', ' '))
  fc.assert(
    fc.property(fc.array(line, { maxLength: 6 }), fc.integer({ min: 1, max: 7 }), (texts, size) => {
      const { write, lines, call } = open()
      const bytes = Buffer.from(texts.map((text) => `${text}\n`).join(''))
      for (let at = 0; at < bytes.length; at += size) write(OUTPUT, bytes.subarray(at, at + size))
      call.flushLines()
      expect(lines).toEqual(texts.map((text) => text.trimEnd()).flatMap((text) => (text === '' ? [] : [`info ${text}`])))
    }),
  )
})

it('a line without an end is logged at the end of the call, and what is written to both is kept apart', () => {
  const { write, lines, call } = open()
  for (const text of ['one ', 'line', '\nan', 'other']) write(OUTPUT, Buffer.from(text))
  write(ERROR, Buffer.from('panic: '))
  write(ERROR, Buffer.from('boom\n\ngoroutine 1'))
  expect(lines).toEqual(['info one line', 'warn panic: boom'])
  call.flushLines()
  call.flushLines()
  expect(lines.slice(2)).toEqual(['info another', 'warn goroutine 1'])
  expect(call.complaint).toBe('panic: boom\n\ngoroutine 1')
})

it('a line that never ends is cut, and other files are not there', () => {
  const { write, lines } = open()
  for (let piece = 0; piece < 100; piece++) write(OUTPUT, Buffer.alloc(1000, 'x'))
  expect(lines.length).toBeGreaterThan(10)
  expect(lines.every(({ length }) => length < 6000)).toBe(true)
  expect(write(3, Buffer.from('x'))).toBe(BADF)
})
