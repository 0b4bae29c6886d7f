/** What an error says, whatever was thrown. */

/** The message of an Error, or the thrown value as text. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
