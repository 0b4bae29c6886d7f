/** What the messages of failures have in common that differ in texts and numbers of their records alone. */
import { cutText, PATTERN_CHARACTERS_MAX } from '../../../shared/model/text.ts'

/**
 * A text in double quotes, to the end of the message where it was cut within the text; or a number, with its sign, separators and exponent.
 * Digits inside a word stay: they are part of a field's name (`address2`) or a type's (`int64`).
 */
const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.?)*(?:"|$)|(?<![\p{L}\p{M}\p{N}_])[+-]?\p{Nd}+(?:[.,]\p{Nd}+)*(?:[eE][+-]?\p{Nd}+)?/gsu

/** The message with `…` for each text in double quotes and each number, cut to whole characters; null for an empty one. */
export const patternOf = (message: string): string | null =>
  message === '' ? null : cutText(message.replace(TEXT_OR_NUMBER, '…'), PATTERN_CHARACTERS_MAX - 1)
