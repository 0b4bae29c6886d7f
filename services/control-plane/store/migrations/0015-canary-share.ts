/** Canaries that handle the records of a share of the keys. */
import type { Knex } from 'knex'

/** Adds the column; null is a canary in shadow. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE canaries ADD share double precision')
}

/** Drops it. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE canaries DROP share')
}
