/** A step's config, as `init` reads it, and as the settings of a module are filled from it. */
import { Kind, kindAt } from './json'
import { Items } from './members'
import { Path, Slice } from './path'
import { Record } from './record'
import { integerOf, numberOf, textOf } from './text'

/** A list may hold any number of wrong items. */
const FAULTS_MAX: i32 = 20

/** The part of the `dps_init` document that an author's `init` reads: the step's `config`. */
export class Config {
  /** Why `init` refused the config, a line for each fault; the pipeline can't start then. */
  error: string | null = null
  private faults: string[] = []
  record: Record
  constructor(record: Record) { this.record = record }
  /** The value at `path` of the step's config. */
  get(path: string): Slice { return this.record.find(new Path('config.' + path)) }
  /** Text at `path`; refuses the config when it is missing or not a string. */
  text(path: string): string {
    const slice = this.get(path)
    if (slice.kind != Kind.String) {
      this.refuse(`config.${path} must be a string`)
      return ''
    }
    return textOf(slice.start, slice.end)
  }
  /** Text at `path`, or `fallback` where there is none. */
  textOr(path: string, fallback: string): string {
    const slice = this.get(path)
    return slice.kind == Kind.String ? textOf(slice.start, slice.end) : fallback
  }
  /** The number at `path`; refuses the config when there is none. */
  number(path: string): f64 { return this.numberOr(path, this.missing(path, Kind.Number, 'a number') as f64) }
  numberOr(path: string, fallback: f64): f64 {
    const slice = this.get(path)
    return slice.kind == Kind.Number ? numberOf(slice.start, slice.end) : fallback
  }
  /** The whole number at `path`; refuses the config when there is none. */
  integer(path: string): i64 { return this.integerOr(path, this.missing(path, Kind.Number, 'a whole number')) }
  integerOr(path: string, fallback: i64): i64 {
    const slice = this.get(path)
    return slice.kind == Kind.Number ? this.whole(path, slice.start, slice.end) : fallback
  }
  bool(path: string): bool {
    const slice = this.get(path)
    if (slice.kind != Kind.True && slice.kind != Kind.False) this.refuse(`config.${path} must be true or false`)
    return slice.kind == Kind.True
  }
  boolOr(path: string, fallback: bool): bool {
    const slice = this.get(path)
    return slice.kind == Kind.True ? true : slice.kind == Kind.False ? false : fallback
  }
  /** The texts of the list at `path`; refuses the config when it is missing or holds anything else. */
  texts(path: string): string[] {
    this.missing(path, Kind.Array, 'a list')
    return this.textsOr(path, [])
  }
  textsOr(path: string, fallback: string[]): string[] {
    const found: string[] = []
    const items = this.items(path)
    if (items === null) return fallback
    while (items.next()) {
      if (kindAt(items.start) == Kind.String) found.push(textOf(items.start, items.end))
      else this.refuse(`config.${path} must hold strings alone`)
    }
    return found
  }
  numbers(path: string): f64[] {
    this.missing(path, Kind.Array, 'a list')
    return this.numbersOr(path, [])
  }
  numbersOr(path: string, fallback: f64[]): f64[] {
    const found: f64[] = []
    const items = this.items(path)
    if (items === null) return fallback
    while (items.next()) {
      if (kindAt(items.start) == Kind.Number) found.push(numberOf(items.start, items.end))
      else this.refuse(`config.${path} must hold numbers alone`)
    }
    return found
  }
  integers(path: string): i64[] {
    this.missing(path, Kind.Array, 'a list')
    return this.integersOr(path, [])
  }
  integersOr(path: string, fallback: i64[]): i64[] {
    const found: i64[] = []
    const items = this.items(path)
    if (items === null) return fallback
    while (items.next()) {
      if (kindAt(items.start) == Kind.Number) found.push(this.whole(path, items.start, items.end))
      else this.refuse(`config.${path} must hold whole numbers alone`)
    }
    return found
  }
  /** The whole number of a number's bytes; refuses the config where it is none, or is beyond 64 bits. */
  private whole(path: string, start: usize, end: usize): i64 {
    const value = integerOf(start, end, 0)
    // Only what stands for no such number depends on what is given for that.
    if (value == 0 && integerOf(start, end, 1) == 1) this.refuse(`config.${path}: ${String.UTF8.decodeUnsafe(start, end - start)} is no whole number of 64 bits`)
    return value
  }
  private items(path: string): Items | null {
    const slice = this.get(path)
    return slice.kind == Kind.Array ? new Items(slice.start, slice.end) : null
  }
  /** Refuses the config where nothing of the kind is at `path`; 0, so that it can stand for a value. */
  private missing(path: string, kind: Kind, what: string): i64 {
    if (this.get(path).kind != kind) this.refuse(`config.${path} must be ${what}`)
    return 0
  }
  /** Refuses the config, for a reason that names the field (`config.from …`). All reasons are shown, each once. */
  refuse(message: string): void {
    if (this.faults.length == FAULTS_MAX || this.faults.includes(message)) return
    this.faults.push(message)
    this.error = this.faults.join('\n')
  }
}
