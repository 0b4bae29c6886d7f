/** What the messages of dead letters have in common, by which groups of them are told apart. */
import type { Knex } from 'knex'

/** Dead letters that are stored already have none. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE dead_letters ADD pattern text')
}

/** Drops the column. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE dead_letters DROP pattern')
}
