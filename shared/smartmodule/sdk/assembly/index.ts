/** What authors import: `import { Record, Config, Path, Kind } from 'dps'`. */
export { Kind, closeOf, isUtf8, kindAt, keyEnd, keyEscaped, keyStart, memberCount, parse as parseJson, skipChecked, skipSpace, valueEnd, valueStart } from './json'
export { compareNumbers, escapeTo, integerOf, numberOf, textOf, unescape } from './text'
export { Path, Segment, Slice, findIn, findMember, hasBackslash, hasTwins } from './path'
export { Items, Members } from './members'
export { Record, Writer } from './record'
export { emit, emitJson, leftGarbage } from './abi'
export { Config } from './config'
export { count, log, observe } from './telemetry'
