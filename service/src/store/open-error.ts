/**
 * The errors of opening, checking, backing up, copying or restoring a ledger: the problem, and its remedy. Names in braces
 * are values of the error, except for those of `Spelling`.
 */
const sentences = {
  server_too_old: ['The server of {place} is PostgreSQL {found}', 'use {needed} or newer'],
  encoding_not_utf8: [
    '{place} stores text as {encoding}, which cannot represent every name',
    'create a database with the encoding UTF8',
  ],
  read_only: [
    '{place} is read-only, like a standby',
    'set {server} to the primary server, or turn off default_transaction_read_only',
  ],
  password_missing: [
    '{place} asks for a password',
    'add it to the address, as in postgresql://user:password@host:5432/name, or set PGPASSWORD',
  ],
  no_tls: [
    '{place} does not offer TLS, which sslmode in the address requires',
    'enable it on the server, or remove sslmode from the address',
  ],
  login_refused: [
    '{place} refuses this user or password',
    'correct {server}, or what the server allows in pg_hba.conf',
  ],
  connect_failed: ['{place} cannot be connected to ({cause})', 'correct {server}'],
  no_database: ['{place} does not exist', 'create the database first, with createdb'],
  no_schema: [
    '{place} has no schema for the tables that this user may use (search_path is {searchPath})',
    'create a schema that it names, grant this user usage and create on it, or set it to public with alter role or alter database',
  ],
  commits_not_waited: [
    '{place} confirms commits before they are on disk (synchronous_commit is off), so its crash would lose answered payments',
    'set it to on with alter role or alter database',
  ],
  statement_ended: [
    '{place} ended a statement ({cause})',
    'set statement_timeout to 0 with alter role or alter database: Purser limits its own statements',
  ],
  create_refused: [
    '{place} does not let this user create tables ({cause})',
    'grant it CREATE on the schema, or make it the owner of the database',
  ],
  rights_missing: [
    '{place} does not give this user {rights} on {tables}',
    'make it the owner of all tables of Purser, or run grant select, insert, update, delete on all tables in schema {schema} to {user}',
  ],
  not_owner: [
    '{place} needs an upgrade of its schema, and this user does not own {tables}',
    'make it the owner with alter table … owner to {user}, or run {purser} migrate up as the owner',
  ],
  right_missing: [
    '{place} does not give this user a right that this needs ({cause})',
    'make it the owner of all tables of Purser, or grant it the right',
  ],
  foreign_tables: [
    '{place} contains tables of another program ({cause}), and was left untouched',
    'use a separate database for Purser',
  ],
  ledger_elsewhere: [
    '{place} contains a ledger in the schema {schema}, which search_path does not name',
    'set search_path to {schema} with alter role or alter database, or use a separate database for another ledger',
  ],
  no_connection_left: [
    '{place} has no connection left for this user',
    'raise max_connections, or the connection limit of the user or the database, or put a pooler in front of it',
  ],
  not_ready: ['{place} is not ready yet ({cause})', 'start Purser once it is'],
  no_server: ['No PostgreSQL server answers at {place} ({cause})', 'start it, or correct {server}'],
  server_lost: [
    'No PostgreSQL server answers at {place} ({cause})',
    'start it, and run the same command again: it continues from here',
  ],
  too_few_connections: ['{place} allows {limit} connections, too few for {processes}', 'set {settings}'],
  pool_forgets_statements: [
    '{place} is behind a pooler that does not support prepared statements, such as PgBouncer in transaction mode before 1.21 or without max_prepared_statements',
    'use PgBouncer 1.21 or newer with max_prepared_statements = 100, or pool_mode = session, or the address of the server itself',
  ],
  citus_not_created: [
    '{place} does not have the Citus extension yet',
    'run create extension citus in it, here and on every worker, and add the workers',
  ],
  citus_not_installed: [
    'The server of {place} does not have Citus installed, so tables cannot be distributed',
    'omit --distribute',
  ],
  citus_worker: [
    '{place} is a worker of Citus, where tables cannot be changed',
    'use the address of its coordinator',
  ],
  table_not_distributed: [
    'The table {table} of {place} is not distributed over machines, unlike the others',
    'run {purser} migrate up --distribute',
  ],
  server_failed: ['{place} cannot be used ({cause})', "see the server's log"],

  path_with_spaces: [
    '{place} has leading or trailing whitespace',
    'name a file without it, with {file}/path/purser.db',
  ],
  hard_links: [
    '{place} is one file with {names} names (hard links), and services under different names would damage it',
    'keep one name, and delete or copy the other',
  ],
  mounted_file: [
    '{place} is mounted as a single file, so its log and lock are in another folder than where it is mounted from',
    'mount the folder that contains it instead',
  ],
  dangling_link: [
    '{place} is a symbolic link to {target}, which does not exist',
    'restore what it leads to, or remove the link to create a new ledger',
  ],
  log_alone: [
    '{place} is missing or empty, but its log {place}-wal is there',
    'put the ledger back, restore a backup with {purser} restore, or move the log away for a new ledger',
  ],
  path_unusable: [
    '{place} is not a path that can be followed ({cause})',
    'name a file with {file}/path/purser.db',
  ],
  folder_not_made: [
    'The folder {place} cannot be created ({cause})',
    'choose a location that this user can write to, with {file}/path/purser.db',
  ],
  file_in_use: ['Another Purser process is using {place}', 'stop it first'],
  lock_not_writable: [
    '{place} cannot be written ({cause})',
    'let this user write there, or choose a location for a new ledger, with {file}/path/purser.db',
  ],
  file_forbidden: [
    'This user may not read {place} ({cause})',
    "run this as the service's user, with sudo -u",
  ],
  file_not_writable: [
    '{place} cannot be opened for writing ({cause})',
    'let this user write there, or choose a location for a new ledger, with {file}/path/purser.db',
  ],
  file_is_folder: ['{place} is a folder', 'name a file in it, as in {file}{place}/purser.db'],
  foreign_file: [
    '{place} is a database of another program, and was left untouched',
    'name another file with {file}/path/purser.db',
  ],
  is_backup: [
    '{place} is a backup, which lacks later payments, revocations and stops',
    'restore it with {purser} restore',
  ],
  no_sqlite_file: [
    '{place} is damaged or not a SQLite database ({cause}), and was left untouched',
    'restore a backup with {purser} restore, or name another file with {file}/path/purser.db',
  ],
  file_damaged: [
    '{place} is damaged ({cause}), and was left untouched',
    'restore a backup with {purser} restore, or name another file with {file}/path/purser.db',
  ],
  row_malformed: [
    '{place} is damaged: a row of the table {table} contains malformed JSON',
    'stop what pays, keep it as it is, and restore a backup that passes {purser} ledger check',
  ],
  damage_unknown: [
    '{place} could not be read completely, so damage is not ruled out',
    'run the same command again',
  ],
  file_failed: [
    '{place} cannot be used ({cause})',
    'restore a backup with {purser} restore, or name another file with {file}/path/purser.db',
  ],

  newer_schema: [
    '{place} was written by a newer Purser (schema {found}, this release supports {needed})',
    'start that release or a later one',
  ],
  other_tables: [
    '{place} says that it has schema {found}, but {difference}: an unreleased build of Purser has written it, and it was left untouched',
    'start that build, restore a backup with {purser} restore, or name another file for a new ledger with {file}/path/other.db',
  ],
  schema_step_failed: [
    'Step {step} of the schema failed on {place} ({cause}), and nothing was changed',
    'start the earlier release again, and report this message',
  ],
  check_needs_newer_release: [
    '{place} has schema {found}, and this release checks schema {needed}',
    'check it with that release',
  ],
  check_needs_migration: [
    '{place} has schema {found}, and this release checks schema {needed}',
    'upgrade it first, with {purser} migrate up',
  ],
  no_ledger: ['There is no ledger at {place}', 'set its file with --database sqlite:/path'],

  secret_invalid: [
    '{place} does not contain a proof secret of this service',
    'put the original file back, or set PURSER_PROOF_SECRET (proofs signed with another secret are refused)',
  ],
  secret_unreadable: [
    '{place} cannot be read ({cause})',
    'let this user read it, or set PURSER_PROOF_SECRET',
  ],
  secret_not_written: [
    '{place} cannot be written ({cause})',
    'let this user write there, or set PURSER_PROOF_SECRET',
  ],

  file_not_made: [
    '{place} cannot be created ({cause})',
    'choose a file in a folder that this user can write to',
  ],
  no_room: [
    'There is not enough disk space for {place} ({cause})',
    'free some space, or move the file to another disk',
  ],
  source_damaged: [
    '{place} is damaged ({cause}) and cannot be copied',
    'keep the file, and restore an older backup',
  ],
  file_not_copied: ['{place} cannot be copied to {target} ({cause})'],
  program_missing: [
    '{program} {there}, and the server is PostgreSQL {needed}',
    'install {program} {needed} (Debian: apt-get install postgresql-client-{needed})',
  ],
  /** The program's own message. */
  program_failed: ['{cause}'],
  no_backup: ['There is no file at {place}', 'name a backup'],
  backup_beside_log: [
    '{place} is a backup, and {place}-wal is the log of another ledger',
    'copy the backup to another folder, and name that copy',
  ],
  backup_empty: ['{place} does not contain a ledger', 'name a backup'],
  backup_too_new: [
    '{place} was written by a newer Purser (schema {found}, this release supports {needed})',
    'restore it with that release',
  ],
  backup_unsound: [
    '{place} is inconsistent ({faults} errors), and nothing was changed',
    'restore another backup ({purser} ledger check --database sqlite:{place} lists the errors)',
  ],
  restore_not_empty: [
    '{place} already contains a ledger',
    'create an empty database, restore to that, and keep this one until everything works',
  ],
  restore_copied: [
    '{place} contains a restore that was interrupted after its copy',
    'finish it with {purser} restore --recovered',
  ],
  nothing_recovered: [
    '{place} contains no ledger',
    'set the recovered database with --database; without --recovered, {purser} restore needs a backup file',
  ],
  restore_unfinished: [
    '{place} contains an unfinished restore',
    'run the same {purser} restore again, or with --recovered if the database already contains the ledger',
  ],
  database_in_use: ['A Purser service is using {place}', 'stop every service first'],

  copy_source_missing: ['There is no ledger at {place}', 'correct --from'],
  copy_source_old: [
    '{place} has schema {found}, and this release copies schema {needed}',
    'run {purser} migrate up --database sqlite:{place} first',
  ],
  copy_target_taken: [
    '{place} contains another ledger, and was left untouched',
    'copy to an empty database, made with createdb',
  ],
  copy_changed_since: [
    '{place} contains a finished copy of this ledger, and the copy or {source} has changed since',
    'nothing was copied: if the service has run on the copy, keep it; if it has run on the file, copy again to an empty database',
  ],
  copy_running: ['Another copy to {place} is running', 'let it finish'],
  copy_of_another: [
    '{place} contains an unfinished copy of another ledger, or the source has changed since',
    'start over with an empty database',
  ],
  copy_unfinished: [
    '{place} contains an unfinished copy',
    'run the same {purser} migrate copy again, or use another database',
  ],
} as const satisfies Record<string, readonly [problem: string, remedy?: string]>

type OpenErrorCode = keyof typeof sentences

/** The user's spelling of commands and settings. */
interface Spelling {
  /** The command: `purser`, or `npx purser`. */
  readonly purser: string
  /** The setting or flag with a server's address. */
  readonly server: string
  /** The setting or flag with a SQLite file, up to its path. */
  readonly file: string
}

const defaultSpelling: Spelling = {
  purser: 'purser',
  server: 'PURSER_DATABASE',
  file: 'PURSER_DATABASE=sqlite:',
}

/** The names in braces of a template. */
type Words<Template> = Template extends `${string}{${infer Word}}${infer Rest}` ? Word | Words<Rest> : never

type Values = Readonly<Record<string, string | number>>

/** Each code with the values of its message. */
type OpenFailure = {
  [Code in OpenErrorCode]: [
    code: Code,
    values: Readonly<
      Record<Exclude<Words<(typeof sentences)[Code][number]>, keyof Spelling>, string | number>
    >,
  ]
}[OpenErrorCode]

/** The ledger cannot be used. The message says why, and names the remedy. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError'
  readonly code: OpenErrorCode
  readonly values: Values

  constructor(...[code, values]: OpenFailure) {
    super(render(code, values, {}))
    this.code = code
    this.values = values
  }

  /** The message, with commands and settings in the user's spelling. */
  tell(spelling: Partial<Spelling>): string {
    return render(this.code, this.values, spelling)
  }
}

/** A step of the schema that failed, as an error that says so; all steps of a start are one transaction. */
export function explainFailedStep(
  error: unknown,
  { place, step }: { readonly place: string; readonly step: number },
): StoreOpenError {
  const cause = error instanceof Error ? error.message : String(error)
  return new StoreOpenError('schema_step_failed', { place, step, cause })
}

function render(code: OpenErrorCode, values: Values, spelling: Partial<Spelling>): string {
  const words: Values = { ...defaultSpelling, ...spelling, ...values }
  return sentences[code].join('; ').replace(/\{(\w+)\}/g, (_, word: string) => String(words[word]))
}
