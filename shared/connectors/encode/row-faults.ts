/** Faults that several formats of rows find. */

/** Why a record can't be encoded as a row. */
export type RowFault = { code: string; message: string }

/** What is no JSON object has no members to make columns of. */
export const NOT_AN_OBJECT: RowFault = { code: 'not_a_json_object', message: 'the value is not one JSON object' }
/** JSON may hold it as an escape; what replaces it in UTF-8 would be another text. */
export const LONE_SURROGATE: RowFault = {
  code: 'lone_surrogate',
  message: 'a text in the value holds half of a surrogate pair, which UTF-8 cannot contain',
}
