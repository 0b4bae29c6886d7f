/** The address of a web service in a connector's config. */
import { z } from 'zod'

/** Whether there is a user or a password in it: that would be shown wherever the address is, and `fetch` takes no such address. */
export const hasCredentials = ({ username, password }: URL): boolean => username !== '' || password !== ''

/** An http or https URL without a user and a password. */
export const HttpUrl = z
  .url({ protocol: /^https?$/ })
  .refine((text) => !URL.canParse(text) || !hasCredentials(new URL(text)), 'must not have a user or a password in it')
