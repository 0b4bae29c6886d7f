/** What authors import: `import { Record, Config, Path, Kind } from 'dps'`. */
export { Kind, closeOf, escapeTo, kindAt, keyEnd, keyEscaped, keyStart, memberCount, numberOf, skipChecked, skipSpace, textOf, unescape, valueEnd, valueStart } from './json'
export { Path, Segment, Slice } from './path'
export { Record, Writer } from './record'
export { Config, emit } from './abi'
