/** What text may be stored: Postgres takes no NUL, and a lone surrogate would come back as another character. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()
