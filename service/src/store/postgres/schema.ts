import { activityColumns, addUp } from '../activity.ts'

/** Adds up the transactions of a ledger that has no sums yet. */
export const addUpAll = `${addUp(`select ${activityColumns} from transactions`)};`

/** Text that is compared, sorted or looked up: byte by byte, whatever the database's locale. */
const key = 'text collate "C"'

const environment = `${key} not null check (environment in ('sandbox', 'production'))`

/**
 * The steps of the schema, oldest first; `purser_schema` counts those that a database has seen. A released
 * step is never edited: what changes is added as a step of its own.
 *
 * `account_id` leads every key and index of tenant data, so that tenants can be spread over machines. The
 * exceptions are named in `directories`.
 */
export const migrations: readonly string[] = [
  `
  create table accounts (
    id ${key} primary key,
    name text not null,
    email text not null,
    idp_user_id text not null,
    created_at_ms bigint not null
  );
  -- by its digest, since a text of any length is no key of an index
  create unique index accounts_by_idp_user on accounts (md5(idp_user_id));

  -- the SHA-256 of a key's text -> the key
  create table api_key_hashes (
    secret_hash bytea primary key,
    account_id ${key} not null,
    key_id ${key} not null
  );

  -- the id of an agent or a mandate -> its account
  create table record_accounts (
    id ${key} primary key,
    account_id ${key} not null
  );

  -- a domain in an environment -> its seller
  create table seller_domains (
    environment ${environment},
    domain ${key} not null,
    account_id ${key} not null,
    seller_id ${key} not null,
    primary key (environment, domain)
  );

  -- what the service made at its first start and needs at every other
  create table service_secrets (
    name ${key} primary key,
    secret text not null
  );

  create table api_keys (
    account_id ${key} not null,
    id ${key} not null,
    environment ${environment},
    role ${key} not null check (role in ('operator', 'owner', 'agent', 'merchant')),
    agent_id ${key},
    label text,
    hint text not null,
    created_at_ms bigint not null,
    revoked_at_ms bigint,
    primary key (account_id, id),
    check ((role = 'agent') = (agent_id is not null))
  );

  create table agents (
    account_id ${key} not null,
    id ${key} not null,
    environment ${environment},
    name text not null,
    description text,
    capabilities text not null,
    status ${key} not null check (status in ('active', 'revoked')),
    created_at_ms bigint not null,
    revoked_at_ms bigint,
    primary key (account_id, id)
  );

  create table mandates (
    account_id ${key} not null,
    id ${key} not null,
    environment ${environment},
    agent_id ${key} not null,
    purpose text not null,
    max_total_text text not null,
    max_total_micro bigint not null,
    max_per_transaction_text text not null,
    max_per_transaction_micro bigint not null,
    currency ${key} not null check (currency = 'USDC'),
    allowed_sellers text not null,
    allowed_categories text not null,
    expires_at_text text not null,
    expires_at_ms bigint not null,
    status ${key} not null check (status in ('active', 'paused', 'revoked')),
    spent_micro bigint not null default 0 check (spent_micro >= 0),
    held_micro bigint not null default 0 check (held_micro >= 0),
    created_at_ms bigint not null,
    updated_at_ms bigint not null,
    primary key (account_id, id),
    -- the database itself refuses an overspend
    check (spent_micro + held_micro <= max_total_micro)
    -- room in each page for the next version of a row whose sums change with every payment
  ) with (fillfactor = 50);
  create index mandates_by_agent on mandates (account_id, agent_id, id);

  create table sellers (
    account_id ${key} not null,
    id ${key} not null,
    environment ${environment},
    name text not null,
    domain ${key} not null,
    price_config text not null,
    created_at_ms bigint not null,
    primary key (account_id, id)
  );

  create table holds (
    account_id ${key} not null,
    nonce ${key} not null,
    environment ${environment},
    agent_id ${key} not null,
    mandate_id ${key} not null,
    amount_text text not null,
    amount_micro bigint not null check (amount_micro > 0),
    currency ${key} not null,
    resource_url text not null,
    status ${key} not null check (status in ('open', 'captured', 'expired', 'voided')),
    issued_at_ms bigint not null,
    expires_at_ms bigint not null,
    transaction_id ${key},
    captured_by ${key},
    merchant_domain ${key},
    idempotency_key ${key},
    primary key (account_id, nonce),
    check ((status = 'captured') = (transaction_id is not null))
  );
  -- what is open, soonest to expire first; captured and ended holds cost nothing here
  create index holds_open on holds (account_id, expires_at_ms, mandate_id) where status = 'open';

  create table transactions (
    account_id ${key} not null,
    id ${key} not null,
    environment ${environment},
    -- a payment between two accounts stands in both: the payer's row counts, the payee's is its copy
    side ${key} not null check (side in ('payer', 'payee')),
    status ${key} not null check (status in ('pending', 'approved', 'denied', 'paid')),
    agent_id ${key} not null,
    mandate_id ${key} not null,
    amount_text text not null,
    amount_micro bigint not null,
    currency ${key} not null,
    resource_url text not null,
    merchant_domain ${key} not null,
    seller_account_id ${key},
    seller_id ${key},
    category text,
    reason_code ${key},
    reason_detail text,
    nonce ${key},
    created_at_ms bigint not null,
    primary key (account_id, id)
  );
  create index transactions_by_agent on transactions (account_id, agent_id, id);
  create index transactions_by_mandate on transactions (account_id, mandate_id, id);
  -- most are paid, and found by the primary key
  create index transactions_by_status on transactions (account_id, status, id) where status <> 'paid';
  -- by its beginning, since a text of any length is no key of an index
  create index transactions_by_merchant on transactions (account_id, left(merchant_domain, 255), id);
  create unique index transactions_received on transactions (account_id, nonce) where side = 'payee';

  -- which sellers a mandate has paid, for the risk signals
  create table paid_sellers (
    account_id ${key} not null,
    mandate_id ${key} not null,
    merchant_domain ${key} not null
  );
  create unique index paid_sellers_once on paid_sellers (account_id, mandate_id, md5(merchant_domain));

  create table audit_events (
    account_id ${key} not null,
    id ${key} not null,
    environment ${environment},
    type ${key} not null,
    actor ${key} not null,
    subject_id ${key} not null,
    data text not null,
    created_at_ms bigint not null,
    primary key (account_id, id)
  );
  create index audit_events_by_type on audit_events (account_id, type, id) where type <> 'payment.verified';
  create index audit_events_by_subject on audit_events (account_id, subject_id, id);
  `,
  `
  -- which of the nine checks failed, and what the mandate had spent when it was asked (check 9)
  alter table transactions add column failed_check bigint;
  alter table transactions add column spent_before_micro bigint;
  -- what the mandate had spent, and what other proofs held of it, when the proof was granted (check 9)
  alter table holds add column spent_before_micro bigint;
  alter table holds add column held_before_micro bigint;
  -- the stop of all agents that paused the mandate
  alter table mandates add column stopped_by ${key};

  -- what happened in each quarter of an hour, or each day, added up from the transactions
  create table activity (
    account_id ${key} not null,
    environment ${environment},
    dimension ${key} not null,
    subject ${key} not null,
    starts_at_ms bigint not null,
    paid_count bigint not null,
    -- the sum of what was paid, in two halves: paid_high * 2^32 + paid_low
    paid_high bigint not null,
    paid_low bigint not null,
    approved_count bigint not null,
    denied_count bigint not null,
    primary key (account_id, environment, dimension, subject, starts_at_ms)
  );

  -- refusals that leave no transaction, counted in memory and added from time to time
  create table refusals (
    account_id ${key} not null,
    environment ${environment},
    kind ${key} not null check (kind in ('proof', 'verification')),
    subject ${key} not null,
    reason ${key} not null,
    starts_at_ms bigint not null,
    refused_count bigint not null,
    primary key (account_id, environment, kind, subject, reason, starts_at_ms)
  );

  -- when a key was last used, to the minute or so
  create table api_key_uses (
    account_id ${key} not null,
    key_id ${key} not null,
    used_at_ms bigint not null,
    primary key (account_id, key_id)
  );

  -- who is signed in to the console, by the SHA-256 of what the cookie holds
  create table sessions (
    account_id ${key} not null,
    token_hash bytea not null,
    id ${key} not null,
    kind ${key} not null check (kind in ('key', 'oidc', 'set_up', 'set_up_link')),
    role ${key} not null check (role in ('operator', 'owner')),
    -- the key that the session ends with
    key_id ${key},
    -- the only one that it sees; both when null
    environment ${key} check (environment in ('sandbox', 'production')),
    created_at_ms bigint not null,
    used_at_ms bigint not null,
    ends_at_ms bigint not null,
    primary key (account_id, token_hash)
  );

  -- the transactions of each batch, until they are added up
  create table activity_queue (
    account_id ${key} not null,
    id ${key} not null,
    transaction_ids text not null,
    primary key (account_id, id)
  );
  ${addUpAll}
  `,
  `
  -- the event of a payment is its transaction, told in other words; all other events, and those of payments
  -- that were made before this step, are records of their own
  alter table audit_events rename to recorded_events;
  -- the key that collected a payment; none where the payment's event is recorded
  alter table transactions add column collected_by ${key};
  create view payment_events as
    select account_id, 'event' || substr(id, strpos(id, '_')) as id, environment, 'payment.verified' as type,
      collected_by as actor, id as subject_id,
      json_build_object('agent_id', agent_id, 'mandate_id', mandate_id, 'amount', amount_text,
        'currency', currency, 'merchant_domain', merchant_domain, 'nonce', nonce)::text as data, created_at_ms
    from transactions where collected_by is not null;
  -- the payments among transactions that may mostly be something else
  create index payments_by_id on transactions (account_id, id) where collected_by is not null;
  create view audit_events as
    select account_id, id, environment, type, actor, subject_id, data, created_at_ms from recorded_events
    union all
    select account_id, id, environment, type, actor, subject_id, data, created_at_ms from payment_events;
  `,
  `
  -- a capture writes another version of a hold, and another entry beside its first: there is room for it
  alter index holds_pkey set (fillfactor = 45);
  -- room in each page for the next version of a row whose sums change again and again
  alter table activity set (fillfactor = 50);
  `,
  `
  -- the request that asked for a proof, when it carried an Idempotency-Key: each key makes one hold
  alter table holds add column requested_by ${key};
  alter table holds add column request_key ${key};
  create unique index holds_by_request on holds (account_id, environment, requested_by, request_key)
    where request_key is not null;
  `,
  `
  -- since when the account is disabled; null while it is active
  alter table accounts add column disabled_at_ms bigint;
  `,
]

/** The tables of tenants; all rows of an account belong together. */
export const tenantTables = [
  'api_keys',
  'agents',
  'mandates',
  'sellers',
  'holds',
  'transactions',
  'paid_sellers',
  'recorded_events',
  'activity',
  'activity_queue',
  'refusals',
  'api_key_uses',
  'sessions',
] as const

/** The tables that belong to no tenant: they are small, or hold only what never changes. */
export const directories = [
  'purser_schema',
  'accounts',
  'api_key_hashes',
  'record_accounts',
  'seller_domains',
  'service_secrets',
] as const
