/** Why a record, row or object became a dead letter: its `error.code`. docs/errors.md is generated from it. */
export const RECORD_CODES: Record<string, string> = {
  // Of a step.
  record_failed: 'the SmartModule failed the record; the message is its own',
  invalid_json: 'the value is not JSON',
  field_missing: 'a field that the SmartModule needs is not there',
  'module_error_<n>': 'the SmartModule failed the record with a number of its author',
  module_trapped: 'the SmartModule trapped on this record, in a fresh instance too',
  module_timeout: 'the SmartModule did not return for this record',
  invalid_timestamp: 'the SmartModule has set a timestamp that no record can have',
  // Of the way in and out.
  not_framed: 'the value does not start with the schema registry’s prefix',
  value_unreadable: 'the value does not decode by the schema that its prefix names',
  record_too_large: 'the record is larger than its topic, or the sink, takes',
  key_missing: 'the record has no key, and the sink’s topic is compacted',
  dead_lettered: 'the record has a dead letter already; never seen in one',
  // Of a source.
  malformed_row: 'a row of an object can’t be read',
  object_unreadable: 'an object, or the rest of it, can’t be read',
  batch_unreadable: 'a batch of another cluster does not inflate',
  // Of a sink.
  not_json: 'the value is not one JSON document',
  not_a_json_object: 'the value is not one JSON object, or holds text that can’t be stored',
  null_value: 'the record has no value',
  unknown_column: 'the table has no column for a member',
  nul_character: 'a text holds U+0000, which Postgres does not store',
  lone_surrogate: 'a text holds half of a surrogate pair, which UTF-8 does not have',
  not_base64: 'a value for a column of bytes is not base64',
  wrong_type: 'a value does not fit its column',
  no_folder: 'the record’s folder can’t be made of it',
  not_avro: 'the value does not fit the Avro schema of the stream that it is written to',
  not_protobuf: 'the value does not fit the Protobuf schema of the stream that it is written to',
  does_not_fit_schema: 'the value does not fit the schema that the sink writes with',
  record_refused: 'the broker of another cluster refused the record; the message is its own',
  'postgres_<SQLSTATE>': 'the table refused the row; five characters of PostgreSQL’s "Error Codes"',
  'http_<status>': 'the web service refused the record with this status',
}
