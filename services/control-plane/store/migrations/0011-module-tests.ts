/** Tests of SmartModules, kept with the versions that passed them. */
import type { Knex } from 'knex'

/** Adds the column. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE smartmodule_versions ADD tests json')
}

/** Drops the column. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE smartmodule_versions DROP tests')
}
