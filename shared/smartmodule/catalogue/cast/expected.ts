/** What the message of a value that can't be cast says: the value, and what was expected in its place. */
import { Field, Type } from './field'

/** Boolean texts that a message names. */
const SHOWN_MAX = 12

export function expectedBy(field: Field): string {
  switch (field.type) {
    case Type.Date:
      return field.format.length > 0 ? field.format : 'YYYY-MM-DD'
    case Type.Timestamp:
      return field.format.length > 0 ? field.format : 'ISO 8601, such as 2026-11-28T10:00:00Z'
    case Type.Boolean: {
      const texts = field.yes.concat(field.no)
      let shown = ''
      for (let i = 0; i < min(texts.length, SHOWN_MAX); i++) shown += (i > 0 ? ', ' : '') + String.UTF8.decode(texts[i])
      return texts.length > SHOWN_MAX ? shown + ', …' : shown
    }
    case Type.Integer:
    case Type.Decimal:
    case Type.Number: {
      let shown = field.thousands.byteLength > 0 ? '"' + String.UTF8.decode(field.thousands) + '" between groups of three digits' : ''
      if (field.type == Type.Integer || (field.decimalPoint == 46 && shown.length == 0)) return shown
      shown = shown.length > 0 ? ', ' + shown : ''
      return '"' + String.fromCharCode(field.decimalPoint) + '" as the decimal point' + shown
    }
    default:
      return ''
  }
}
