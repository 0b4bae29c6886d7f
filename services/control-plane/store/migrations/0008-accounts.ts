/** Who may do what: suspension of accounts, what processors know of an account, the audit log, bounds of secrets, sealed answers. */
import type { Knex } from 'knex'

/** Adds them, and puts each account into the outbox: processors learn of those from before too. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- quotas: what replaces the quotas of the account's type. over_cpu_hour: the hour in which it used more CPU than it may.
    ALTER TABLE accounts ADD suspended_at timestamptz, ADD suspended_for text, ADD quotas json NOT NULL DEFAULT '{}', ADD over_cpu_hour text;
    CREATE TABLE cpu_use (account_id text NOT NULL, hour text NOT NULL, processor_id text NOT NULL, cpu_seconds double precision NOT NULL,
      PRIMARY KEY (account_id, hour, processor_id));
    CREATE INDEX cpu_use_hour ON cpu_use (hour);
    INSERT INTO outbox (key, value)
      SELECT 'account/' || id, convert_to(json_build_object('type', type, 'is_suspended', false, 'is_over_cpu', false)::text, 'UTF8') FROM accounts;

    -- Keys keep what they could do before these scopes existed.
    UPDATE api_keys SET scopes = scopes || '{secrets:use}' WHERE scopes && '{pipelines:write,connectors:write}';
    UPDATE api_keys SET scopes = scopes || '{audit:read}' WHERE 'keys:write' = ANY (scopes);

    ALTER TABLE secrets ADD allowed_connectors text[], ADD allowed_hosts text[];
    ALTER TABLE idempotency_keys ADD is_sealed boolean NOT NULL DEFAULT false;

    -- No foreign key: entries outlast what they tell of.
    CREATE TABLE audit_log (id text PRIMARY KEY, account_id text NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), actor text NOT NULL, operation text NOT NULL,
      resource_id text, address text, request_id text NOT NULL, status int, before json, after json);
    CREATE INDEX audit_log_account ON audit_log (account_id, created_at, id);
    CREATE INDEX audit_log_age ON audit_log (created_at);
    -- An entry is completed once, and goes when it is a year old.
    CREATE FUNCTION audit_log_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF TG_OP = 'UPDATE' AND OLD.status IS NULL AND ROW(NEW.id, NEW.account_id, NEW.created_at, NEW.actor, NEW.operation, NEW.address, NEW.request_id)
        IS NOT DISTINCT FROM ROW(OLD.id, OLD.account_id, OLD.created_at, OLD.actor, OLD.operation, OLD.address, OLD.request_id) THEN RETURN NEW; END IF;
      IF TG_OP = 'DELETE' AND OLD.created_at < now() - interval '365 days' THEN RETURN OLD; END IF;
      RAISE EXCEPTION 'the audit log is append-only';
    END $$;
    CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE ON audit_log FOR EACH ROW EXECUTE FUNCTION audit_log_append_only();
  `)
}

/** Drops them. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE audit_log; DROP FUNCTION audit_log_append_only;
    ALTER TABLE idempotency_keys DROP is_sealed;
    ALTER TABLE secrets DROP allowed_connectors, DROP allowed_hosts;
    DROP TABLE cpu_use;
    ALTER TABLE accounts DROP suspended_at, DROP suspended_for, DROP quotas, DROP over_cpu_hour;
  `)
}
