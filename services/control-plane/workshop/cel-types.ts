/**
 * The type of a CEL expression's result, in the terms of a stream's schema: `any` where it depends on the record. The module itself checks
 * types as it runs; this only tells sinks what to expect. Runs in a workshop: an account writes the expression, and the library's parser
 * takes 1 s for 10,000 characters.
 */
import { bare, isOptional } from '../../../shared/model/stream-schema.ts'
import { parse } from '@bufbuild/cel'

type Expr = NonNullable<ReturnType<typeof parse>['expr']>
type Fields = Readonly<Record<string, string>>

const CONSTANTS: Record<string, string> = {
  boolValue: 'boolean',
  int64Value: 'integer',
  uint64Value: 'integer',
  doubleValue: 'number',
  stringValue: 'string',
  bytesValue: 'string',
  nullValue: 'any?',
}

const named = (type: string, names: string): [string, string][] => names.split(' ').map((name) => [name, type])
/** Functions and operators whose result has one type, whatever their arguments are. */
const RESULTS = new Map([
  ...named(
    'boolean',
    '_==_ _!=_ _<_ _<=_ _>_ _>=_ _&&_ _||_ !_ @in bool startsWith endsWith contains matches hasValue math.isNaN math.isInf math.isFinite',
  ),
  ...named(
    'integer',
    'size int uint indexOf lastIndexOf getFullYear getMonth getDate getDayOfMonth getDayOfWeek getDayOfYear getHours getMinutes',
  ),
  ...named('integer', 'getSeconds getMilliseconds math.bitAnd math.bitOr math.bitXor math.bitNot math.bitShiftLeft math.bitShiftRight'),
  ...named('number', 'double math.ceil math.floor math.round math.trunc math.sqrt'),
  ...named('string', 'string lowerAscii upperAscii trim replace substring charAt format join reverse strings.quote base64.encode duration'),
  ...named('datetime', 'timestamp'),
])
const ARITHMETIC = new Set(['_+_', '_-_', '_*_', '_/_', '_%_'])
/** Not decimals: in records of Avro they are texts. `double(…)` makes a number of either. */
const NUMBERS = new Set(['integer', 'number'])

function typeOfCall(name: string, args: string[]): string {
  const found = RESULTS.get(name)
  if (found) return found
  const [first = 'any', second = 'any'] = args.map(bare)
  if (name === '-_') return first === 'integer' ? 'integer' : NUMBERS.has(first) ? 'number' : 'any'
  if (ARITHMETIC.has(name)) {
    if (first === 'integer' && second === 'integer') return 'integer'
    if (NUMBERS.has(first) && NUMBERS.has(second)) return 'number'
    return name === '_+_' && first === 'string' && second === 'string' ? 'string' : 'any'
  }
  if (name !== '_?_:_') return 'any'
  const [, yes = 'any', no = 'any'] = args
  if (bare(yes) === bare(no)) return isOptional(yes) ? yes : no
  // Of null and another type: that type, which may be null.
  if (yes === 'any?' || no === 'any?') return `${bare(yes === 'any?' ? no : yes)}?`
  return NUMBERS.has(bare(yes)) && NUMBERS.has(bare(no)) ? `number${isOptional(yes) || isOptional(no) ? '?' : ''}` : 'any'
}

function typeOf(expression: Expr | undefined, fields: Fields): string {
  const kind = expression?.exprKind
  switch (kind?.case) {
    case 'constExpr':
      return CONSTANTS[kind.value.constantKind.case ?? ''] ?? 'any'
    case 'identExpr':
      return { timestamp: 'datetime', partition: 'integer', offset: 'integer' }[kind.value.name] ?? 'any'
    case 'selectExpr': {
      if (kind.value.testOnly) return 'boolean'
      const of = kind.value.operand?.exprKind
      const isField = of?.case === 'identExpr' && of.value.name === 'value' && Object.hasOwn(fields, kind.value.field)
      return isField ? fields[kind.value.field]! : 'any'
    }
    case 'callExpr': {
      const { function: name, target, args } = kind.value
      const space = target?.exprKind.case === 'identExpr' ? target.exprKind.value.name : ''
      const full = ['math', 'strings', 'base64'].includes(space) ? `${space}.${name}` : name
      return typeOfCall(
        full,
        args.map((each) => typeOf(each, fields)),
      )
    }
    // all() and exists() start with true or false; other macros make lists and maps.
    case 'comprehensionExpr':
      return kind.value.accuInit?.exprKind.case === 'constExpr' && kind.value.accuInit.exprKind.value.constantKind.case === 'boolValue'
        ? 'boolean'
        : 'any'
    default:
      return 'any'
  }
}

/** The time that the library's parser takes for white space grows with its square. No expression needs so much of it. */
const LONG_SPACE = /\s{200}/

/** `fields`: the types of the record's own members. Never throws: the module says what is wrong with an expression. */
export function celTypeOf(expression: string, fields: Fields): string {
  if (LONG_SPACE.test(expression)) return 'any'
  try {
    return typeOf(parse(expression).expr, fields)
  } catch {
    return 'any'
  }
}
