/** Which versions are quarantined; and canaries that stay to be read after their end. */
import type { Knex } from 'knex'

/** `smartmodules.status`, which knew of the newest version alone, is not read any more. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE smartmodule_versions ADD is_quarantined boolean NOT NULL DEFAULT false;
    UPDATE smartmodule_versions v SET is_quarantined = true FROM smartmodules m
      WHERE m.id = v.smartmodule_id AND m.status = 'quarantined'
        AND v.ordinal = (SELECT max(ordinal) FROM smartmodule_versions WHERE smartmodule_id = m.id);
    ALTER TABLE smartmodules ALTER status SET DEFAULT 'deployed';
    ALTER TABLE canaries ADD running_version text NOT NULL DEFAULT '', ADD handled bigint, ADD handled_failed bigint;
    UPDATE canaries c SET running_version = coalesce(p.definition->'steps'->c.step->>'version', '')
      FROM pipelines p WHERE p.id = c.pipeline_id`)
}

/** Drops the columns. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE canaries DROP running_version, DROP handled, DROP handled_failed;
    ALTER TABLE smartmodules ALTER status DROP DEFAULT;
    ALTER TABLE smartmodule_versions DROP is_quarantined`)
}
