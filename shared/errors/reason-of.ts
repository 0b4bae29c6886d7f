/** What an error says, and an error of whatever was thrown. */

/** The message of an Error, or the thrown value as text. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The thrown value itself if it is an Error, else an Error that says it. */
export const errorOf = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)))
