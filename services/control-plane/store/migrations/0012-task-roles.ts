/** Tasks are counted by role: intake tasks had the numbers from 1000 on. */
import type { Knex } from 'knex'

/** Adds the role to the key of reports. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE observed_tasks ADD role text NOT NULL DEFAULT 'chain';
    ALTER TABLE observed_tasks DROP CONSTRAINT observed_tasks_pkey, ADD PRIMARY KEY (pipeline_id, role, task);
    UPDATE observed_tasks SET role = 'intake', task = task - 1000 WHERE task >= 1000;
  `)
}

/** Puts the numbers back. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    UPDATE observed_tasks SET task = task + 1000 WHERE role = 'intake';
    ALTER TABLE observed_tasks DROP CONSTRAINT observed_tasks_pkey, ADD PRIMARY KEY (pipeline_id, task), DROP role;
  `)
}
