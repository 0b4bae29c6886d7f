/** True for text that can be stored: Postgres refuses NUL, and an unpaired surrogate would come back as another character. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()
