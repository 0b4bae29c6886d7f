/** The address of a web service in a connector's config. */
import { z } from 'zod'

/** A user or a password in it would be shown wherever the address is, and `fetch` takes no such address. */
const hasNoCredentials = (text: string): boolean => {
  if (!URL.canParse(text)) return true
  const { username, password } = new URL(text)
  return username === '' && password === ''
}

/** An http or https URL without a user and a password. */
export const HttpUrl = z.url({ protocol: /^https?$/ }).refine(hasNoCredentials, 'must not have a user or a password in it')
