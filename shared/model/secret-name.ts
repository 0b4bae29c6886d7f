/** The pattern of a secret's name. */
export const SECRET_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/
