/** What a secret may be called. */
export const SECRET_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/
