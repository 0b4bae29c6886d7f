/** Sources of SmartModules, kept with the versions that were made of them. */
import type { Knex } from 'knex'

/** Adds the column. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE smartmodule_versions ADD source json')
}

/** Drops the column. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE smartmodule_versions DROP source')
}
