/** Marks a file as Purser's own: "PURS" as SQLite's application id. */
export const applicationId = 0x50555253

/**
 * The steps of the schema, oldest first; `user_version` counts those that a file has seen. A released
 * step is never edited: what changes is added as a step of its own.
 *
 * `account_id` leads every key and index of tenant data. The three directory tables are the exceptions:
 * they hold only what never changes, and lead from a name to the account that it belongs to.
 */
export const migrations: readonly string[] = [
  `
  create table accounts (
    id text not null primary key,
    name text not null,
    email text not null,
    idp_user_id text not null unique,
    created_at_ms integer not null
  ) strict;

  -- directory: the SHA-256 of a key's text -> the key
  create table api_key_hashes (
    secret_hash blob not null primary key,
    account_id text not null,
    key_id text not null
  ) strict, without rowid;

  -- directory: the id of an agent or a mandate -> its account
  create table record_accounts (
    id text not null primary key,
    account_id text not null
  ) strict, without rowid;

  -- directory: a domain in an environment -> its seller
  create table seller_domains (
    environment text not null,
    domain text not null,
    account_id text not null,
    seller_id text not null,
    primary key (environment, domain)
  ) strict, without rowid;

  create table api_keys (
    account_id text not null,
    id text not null,
    environment text not null check (environment in ('sandbox', 'production')),
    role text not null check (role in ('operator', 'owner', 'agent', 'merchant')),
    agent_id text,
    label text,
    hint text not null,
    created_at_ms integer not null,
    revoked_at_ms integer,
    primary key (account_id, id),
    check ((role = 'agent') = (agent_id is not null))
  ) strict;

  create table agents (
    account_id text not null,
    id text not null,
    environment text not null check (environment in ('sandbox', 'production')),
    name text not null,
    description text,
    capabilities text not null,
    status text not null check (status in ('active', 'revoked')),
    created_at_ms integer not null,
    revoked_at_ms integer,
    primary key (account_id, id)
  ) strict;

  create table mandates (
    account_id text not null,
    id text not null,
    environment text not null check (environment in ('sandbox', 'production')),
    agent_id text not null,
    purpose text not null,
    max_total_text text not null,
    max_total_micro integer not null,
    max_per_transaction_text text not null,
    max_per_transaction_micro integer not null,
    currency text not null check (currency = 'USDC'),
    allowed_sellers text not null,
    allowed_categories text not null,
    expires_at_text text not null,
    expires_at_ms integer not null,
    status text not null check (status in ('active', 'paused', 'revoked')),
    spent_micro integer not null default 0 check (spent_micro >= 0),
    held_micro integer not null default 0 check (held_micro >= 0),
    created_at_ms integer not null,
    updated_at_ms integer not null,
    primary key (account_id, id),
    -- the database itself refuses an overspend
    check (spent_micro + held_micro <= max_total_micro)
  ) strict;
  create index mandates_by_agent on mandates (account_id, agent_id, id);

  create table sellers (
    account_id text not null,
    id text not null,
    environment text not null check (environment in ('sandbox', 'production')),
    name text not null,
    domain text not null,
    price_config text not null,
    created_at_ms integer not null,
    primary key (account_id, id)
  ) strict;

  create table holds (
    account_id text not null,
    nonce text not null,
    environment text not null check (environment in ('sandbox', 'production')),
    agent_id text not null,
    mandate_id text not null,
    amount_text text not null,
    amount_micro integer not null check (amount_micro > 0),
    currency text not null,
    resource_url text not null,
    status text not null check (status in ('open', 'captured', 'expired', 'voided')),
    issued_at_ms integer not null,
    expires_at_ms integer not null,
    transaction_id text,
    captured_by text,
    merchant_domain text,
    idempotency_key text,
    primary key (account_id, nonce),
    check ((status = 'captured') = (transaction_id is not null))
  ) strict;
  -- what is open, soonest to expire first: holds come and go at the two ends of it, which keeps the pages
  -- that a commit writes few; captured and ended holds cost nothing here
  create index holds_open on holds (account_id, expires_at_ms, mandate_id) where status = 'open';

  create table transactions (
    account_id text not null,
    id text not null,
    environment text not null check (environment in ('sandbox', 'production')),
    -- a payment between two accounts stands in both: the payer's row counts, the payee's is its copy
    side text not null check (side in ('payer', 'payee')),
    status text not null check (status in ('pending', 'approved', 'denied', 'paid')),
    agent_id text not null,
    mandate_id text not null,
    amount_text text not null,
    amount_micro integer not null,
    currency text not null,
    resource_url text not null,
    merchant_domain text not null,
    seller_account_id text,
    seller_id text,
    category text,
    reason_code text,
    reason_detail text,
    nonce text,
    created_at_ms integer not null,
    primary key (account_id, id)
  ) strict;
  -- paid ones are found by the primary key: most are, and an index of them would cost each payment a page
  create index transactions_by_status on transactions (account_id, status, id) where status <> 'paid';
  create index transactions_by_merchant on transactions (account_id, merchant_domain, id);
  create unique index transactions_received on transactions (account_id, nonce) where side = 'payee';

  -- the transactions of each agent and of each mandate; an index, but written later and many at once
  create table transaction_lists (
    account_id text not null,
    list_id text not null,
    id text not null,
    primary key (account_id, list_id, id)
  ) strict, without rowid;
  -- the rowid up to which all transactions stand in their lists
  create table list_progress (listed_up_to integer not null) strict;
  insert into list_progress (listed_up_to) values (0);

  -- which sellers a mandate has paid, for the risk signals
  create table paid_sellers (
    account_id text not null,
    mandate_id text not null,
    merchant_domain text not null,
    primary key (account_id, mandate_id, merchant_domain)
  ) strict, without rowid;

  create table audit_events (
    account_id text not null,
    id text not null,
    environment text not null check (environment in ('sandbox', 'production')),
    type text not null,
    actor text not null,
    subject_id text not null,
    data text not null,
    created_at_ms integer not null,
    primary key (account_id, id)
  ) strict;
  create index audit_events_by_type on audit_events (account_id, type, id) where type <> 'payment.verified';
  create index audit_events_by_subject on audit_events (account_id, subject_id, id);
  `,
  `
  -- the event of a payment is its transaction, told in other words; all other events, and those of payments
  -- that were made before this step, are records of their own
  alter table audit_events rename to recorded_events;
  -- the key that collected a payment; none where the payment's event is recorded
  alter table transactions add column collected_by text;
  create view payment_events as
    select account_id, cast('event' || substr(id, instr(id, '_')) as text) as id, environment,
      cast('payment.verified' as text) as type, collected_by as actor, id as subject_id,
      cast(json_object('agent_id', agent_id, 'mandate_id', mandate_id, 'amount', amount_text,
        'currency', currency, 'merchant_domain', merchant_domain, 'nonce', nonce) as text) as data, created_at_ms
    from transactions where collected_by is not null;
  -- the payments among transactions that may mostly be something else
  create index payments_by_id on transactions (account_id, id) where collected_by is not null;
  create view audit_events as
    select account_id, id, environment, type, actor, subject_id, data, created_at_ms from recorded_events
    union all
    select account_id, id, environment, type, actor, subject_id, data, created_at_ms from payment_events;

  -- room for what a capture writes into a hold, given up by the capture: so the row does not grow out of its page
  alter table holds add column reserve blob;

  -- a merchant's transactions are listed like those of agents and mandates
  insert into transaction_lists (account_id, list_id, id)
    select account_id, 'merchant:' || merchant_domain, id from transactions
    where rowid <= (select listed_up_to from list_progress);
  drop index transactions_by_merchant;
  `,
  `
  -- which of the nine checks failed, and what the mandate had spent when it was asked (check 9)
  alter table transactions add column failed_check integer;
  alter table transactions add column spent_before_micro integer;
  -- what the mandate had spent, and what other proofs held of it, when the proof was granted (check 9)
  alter table holds add column spent_before_micro integer;
  alter table holds add column held_before_micro integer;
  -- the stop of all agents that paused the mandate
  alter table mandates add column stopped_by text;

  -- what happened in each quarter of an hour, or each day, added up from the transactions
  create table activity (
    account_id text not null,
    environment text not null check (environment in ('sandbox', 'production')),
    dimension text not null,
    subject text not null,
    starts_at_ms integer not null,
    paid_count integer not null,
    -- the sum of what was paid, in two halves: paid_high * 2^32 + paid_low
    paid_high integer not null,
    paid_low integer not null,
    approved_count integer not null,
    denied_count integer not null,
    primary key (account_id, environment, dimension, subject, starts_at_ms)
  ) strict, without rowid;

  -- refusals that leave no transaction, counted in memory and added from time to time
  create table refusals (
    account_id text not null,
    environment text not null check (environment in ('sandbox', 'production')),
    kind text not null check (kind in ('proof', 'verification')),
    subject text not null,
    reason text not null,
    starts_at_ms integer not null,
    refused_count integer not null,
    primary key (account_id, environment, kind, subject, reason, starts_at_ms)
  ) strict, without rowid;

  -- when a key was last used, to the minute or so
  create table api_key_uses (
    account_id text not null,
    key_id text not null,
    used_at_ms integer not null,
    primary key (account_id, key_id)
  ) strict, without rowid;

  -- who is signed in to the console, by the SHA-256 of what the cookie holds
  create table sessions (
    account_id text not null,
    token_hash blob not null,
    id text not null,
    kind text not null check (kind in ('key', 'oidc', 'set_up', 'set_up_link')),
    role text not null check (role in ('operator', 'owner')),
    -- the key that the session ends with
    key_id text,
    -- the only one that it sees; both when null
    environment text check (environment in ('sandbox', 'production')),
    created_at_ms integer not null,
    used_at_ms integer not null,
    ends_at_ms integer not null,
    primary key (account_id, token_hash)
  ) strict, without rowid;

  -- the rowid up to which all transactions are added up
  create table activity_progress (added_up_to integer not null) strict;
  insert into activity_progress (added_up_to) values (0);
  `,
  `
  -- A payment changes two numbers of a mandate. They stand by themselves: of such rows a page holds two hundred, of whole
  -- mandates nine, and a commit writes every page that it changes.
  create table mandate_terms (
    no integer primary key,
    account_id text not null,
    id text not null,
    environment text not null check (environment in ('sandbox', 'production')),
    agent_id text not null,
    purpose text not null,
    max_total_text text not null,
    max_total_micro integer not null,
    max_per_transaction_text text not null,
    max_per_transaction_micro integer not null,
    currency text not null check (currency = 'USDC'),
    allowed_sellers text not null,
    allowed_categories text not null,
    expires_at_text text not null,
    expires_at_ms integer not null,
    status text not null check (status in ('active', 'paused', 'revoked')),
    created_at_ms integer not null,
    updated_at_ms integer not null,
    stopped_by text,
    unique (account_id, id)
  ) strict;
  create table mandate_sums (
    -- that of its terms
    no integer primary key,
    max_total_micro integer not null,
    spent_micro integer not null check (spent_micro >= 0),
    held_micro integer not null check (held_micro >= 0),
    -- the database itself refuses an overspend
    check (spent_micro + held_micro <= max_total_micro)
  ) strict;
  insert into mandate_terms select rowid, account_id, id, environment, agent_id, purpose, max_total_text, max_total_micro,
    max_per_transaction_text, max_per_transaction_micro, currency, allowed_sellers, allowed_categories, expires_at_text,
    expires_at_ms, status, created_at_ms, updated_at_ms, stopped_by from mandates;
  insert into mandate_sums select rowid, max_total_micro, spent_micro, held_micro from mandates;
  drop table mandates;
  create index mandates_by_agent on mandate_terms (account_id, agent_id, id);

  -- both as one: who reads need not know that they are two
  create view mandates as
    select t.account_id, t.id, t.environment, t.agent_id, t.purpose, t.max_total_text, t.max_total_micro,
      t.max_per_transaction_text, t.max_per_transaction_micro, t.currency, t.allowed_sellers, t.allowed_categories,
      t.expires_at_text, t.expires_at_ms, t.status, s.spent_micro, s.held_micro, t.created_at_ms, t.updated_at_ms,
      t.stopped_by
    from mandate_terms t cross join mandate_sums s where s.no = t.no;

  -- an entry has the number of its list, which is short, and not the words of it
  alter table transaction_lists rename to listed_by_words;
  create table transaction_lists (
    no integer primary key,
    account_id text not null,
    list_id text not null,
    unique (account_id, list_id)
  ) strict;
  create table listed_transactions (
    list_no integer not null,
    id text not null,
    primary key (list_no, id)
  ) strict, without rowid;
  insert into transaction_lists (account_id, list_id) select distinct account_id, list_id from listed_by_words;
  insert into listed_transactions
    select l.no, w.id from transaction_lists l
    join listed_by_words w on w.account_id = l.account_id and w.list_id = l.list_id;
  drop table listed_by_words;
  `,
  `
  -- the request that asked for a proof, when it carried an Idempotency-Key: each key makes one hold
  alter table holds add column requested_by text;
  alter table holds add column request_key text;
  create unique index holds_by_request on holds (account_id, environment, requested_by, request_key)
    where request_key is not null;
  `,
  `
  -- since when the account is disabled; null while it is active
  alter table accounts add column disabled_at_ms integer;
  `,
]
