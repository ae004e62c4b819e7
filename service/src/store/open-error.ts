/**
 * The errors of opening, checking, backing up, copying or restoring a ledger, and the remedy. Names in braces are
 * values of the error, except for those of `Spelling`.
 */
const sentences = {
  server_too_old: {
    problem: 'The server of {place} is PostgreSQL {found}',
    remedy: 'use {needed} or newer',
  },
  encoding_not_utf8: {
    problem: '{place} stores text as {encoding}, which cannot represent every name',
    remedy: 'create a database with the encoding UTF8',
  },
  read_only: {
    problem: '{place} is read-only, like a standby',
    remedy: 'set {server} to the primary server',
  },
  password_missing: {
    problem: '{place} asks for a password',
    remedy: 'add it to the address, as in postgresql://user:password@host:5432/name, or set PGPASSWORD',
  },
  no_tls: {
    problem: '{place} does not offer TLS, which sslmode in the address requires',
    remedy: 'enable it on the server, or remove sslmode from the address',
  },
  login_refused: {
    problem: '{place} refuses this user or password',
    remedy: 'correct {server}, or what the server allows in pg_hba.conf',
  },
  no_database: { problem: '{place} does not exist', remedy: 'create the database first, with createdb' },
  create_refused: {
    problem: '{place} does not let this user create tables ({cause})',
    remedy: 'grant it CREATE on the schema, or make it the owner of the database',
  },
  foreign_tables: {
    problem: '{place} contains tables of another program ({cause}), and was left untouched',
    remedy: 'use a separate database for Purser',
  },
  no_connection_left: {
    problem: '{place} has no connection left for this user',
    remedy: 'raise max_connections, or put a pooler in front of it',
  },
  not_ready: { problem: '{place} is not ready yet ({cause})', remedy: 'start Purser once it is' },
  no_server: {
    problem: 'No PostgreSQL server answers at {place} ({cause})',
    remedy: 'start it, or correct {server}',
  },
  server_lost: {
    problem: 'No PostgreSQL server answers at {place} ({cause})',
    remedy: 'start it, and run the same command again: it continues from here',
  },
  too_few_connections: {
    problem: '{place} allows {limit} connections, too few for {processes}',
    remedy: 'set {settings}',
  },
  pool_forgets_statements: {
    problem:
      '{place} is behind a pooler that does not support prepared statements, such as PgBouncer in transaction mode before 1.21 or without max_prepared_statements',
    remedy:
      'use PgBouncer 1.21 or newer with max_prepared_statements = 100, or pool_mode = session, or the address of the server itself',
  },
  citus_not_created: {
    problem: '{place} does not have the Citus extension yet',
    remedy: 'run create extension citus in it, here and on every worker, and add the workers',
  },
  citus_not_installed: {
    problem: 'The server of {place} does not have Citus installed, so tables cannot be distributed',
    remedy: 'omit --distribute',
  },
  table_not_distributed: {
    problem: 'The table {table} of {place} is not distributed over machines, unlike the others',
    remedy: 'run {purser} migrate up --distribute',
  },
  server_failed: {
    problem: '{place} cannot be used ({cause})',
    remedy: "see the server's log",
  },

  hard_links: {
    problem:
      '{place} is one file with {names} names (hard links), and services under different names would damage it',
    remedy: 'keep one name, and delete or copy the other',
  },
  dangling_link: {
    problem: '{place} is a symbolic link to {target}, which does not exist',
    remedy: 'restore that file, or remove the link to create a new ledger',
  },
  folder_not_made: {
    problem: 'The folder {place} cannot be created ({cause})',
    remedy: 'choose a location that this user can write to, with {file}/path/purser.db',
  },
  file_in_use: {
    problem: 'Another Purser process is using {place}',
    remedy: 'stop it first; a second service needs a separate file, with {file}/path/other.db',
  },
  lock_not_writable: {
    problem: '{place} cannot be written ({cause})',
    remedy: 'choose a location that this user can write to, with {file}/path/purser.db',
  },
  file_not_writable: {
    problem: '{place} cannot be opened for writing ({cause})',
    remedy: 'choose a location that this user can write to, with {file}/path/purser.db',
  },
  foreign_file: {
    problem: '{place} is a database of another program, and was left untouched',
    remedy: 'name another file with {file}/path/purser.db',
  },
  no_sqlite_file: {
    problem: '{place} is damaged or not a SQLite database ({cause}), and was left untouched',
    remedy: 'restore a backup with {purser} restore, or name another file with {file}/path/purser.db',
  },
  file_damaged: {
    problem: '{place} is damaged ({cause}), and was left untouched',
    remedy: 'restore a backup with {purser} restore, or name another file with {file}/path/purser.db',
  },
  file_failed: {
    problem: '{place} cannot be used ({cause})',
    remedy: 'restore a backup with {purser} restore, or name another file with {file}/path/purser.db',
  },

  newer_schema: {
    problem: '{place} was written by a newer Purser (schema {found}, this release supports {needed})',
    remedy: 'start that release or a later one',
  },
  other_tables: {
    problem:
      '{place} says that it has schema {found}, but {difference}: an unreleased build of Purser has written it, and it was left untouched',
    remedy: 'start that build, or name another file for a new ledger with {file}/path/other.db',
  },
  schema_step_failed: {
    problem: 'Step {step} of the schema failed on {place} ({cause}), and nothing was changed',
    remedy: 'start the earlier release again, and report this message',
  },
  check_needs_newer_release: {
    problem: '{place} has schema {found}, and this release checks schema {needed}',
    remedy: 'check it with that release',
  },
  check_needs_migration: {
    problem: '{place} has schema {found}, and this release checks schema {needed}',
    remedy: 'upgrade it first, with {purser} migrate up',
  },
  no_ledger: {
    problem: 'There is no ledger at {place}',
    remedy: 'set its file with --database sqlite:/path',
  },

  secret_invalid: {
    problem: '{place} does not contain a proof secret of this service',
    remedy:
      'restore it from a backup, or set PURSER_PROOF_SECRET (proofs signed with another secret are refused)',
  },
  secret_unreadable: {
    problem: '{place} cannot be read ({cause})',
    remedy: 'let this user read it, or set PURSER_PROOF_SECRET',
  },
  secret_not_written: {
    problem: '{place} cannot be written ({cause})',
    remedy: 'let this user write there, or set PURSER_PROOF_SECRET',
  },

  file_not_made: {
    problem: '{place} cannot be created ({cause})',
    remedy: 'choose a file in a folder that this user can write to',
  },
  no_room: {
    problem: 'There is not enough disk space for {place} (SQLITE_FULL)',
    remedy: 'free some space, or choose a file on another disk',
  },
  source_damaged: {
    problem: '{place} is damaged ({cause}) and cannot be copied',
    remedy: 'keep the file, and restore an older backup',
  },
  file_not_copied: { problem: '{place} cannot be copied to {target} ({cause})', remedy: undefined },
  program_missing: {
    problem: '{program} {there}, and the server is PostgreSQL {needed}',
    remedy: 'install {program} {needed} (Debian: apt-get install postgresql-client-{needed})',
  },
  /** The program's own message. */
  program_failed: { problem: '{cause}', remedy: undefined },
  no_backup: { problem: 'There is no file at {place}', remedy: 'name a backup' },
  backup_empty: { problem: '{place} does not contain a ledger', remedy: 'name a backup' },
  backup_too_new: {
    problem: '{place} was written by a newer Purser (schema {found}, this release supports {needed})',
    remedy: 'restore it with that release',
  },
  backup_unsound: {
    problem: '{place} is inconsistent ({faults} errors), and nothing was changed',
    remedy: 'restore another backup ({purser} ledger check --database sqlite:{place} lists the errors)',
  },
  restore_not_empty: {
    problem: '{place} already contains a ledger',
    remedy: 'create an empty database, restore to that, and keep this one until everything works',
  },
  restore_unfinished: {
    problem: '{place} contains an unfinished restore',
    remedy: 'run {purser} restore again, with an empty database',
  },

  copy_source_missing: { problem: 'There is no ledger at {place}', remedy: 'correct --from' },
  copy_source_old: {
    problem: '{place} has schema {found}, and this release copies schema {needed}',
    remedy: 'run {purser} migrate up --database sqlite:{place} first',
  },
  copy_target_taken: {
    problem: '{place} contains another ledger, and was left untouched',
    remedy: 'copy to an empty database, made with createdb',
  },
  copy_changed_since: {
    problem: '{place} contains a finished copy of this ledger, and the copy or {source} has changed since',
    remedy:
      'nothing was copied: if the service has run on the copy, keep it; if it has run on the file, copy again to an empty database',
  },
  copy_running: { problem: 'Another copy to {place} is running', remedy: 'let it finish' },
  copy_of_another: {
    problem: '{place} contains an unfinished copy of another ledger, or the source has changed since',
    remedy: 'start over with an empty database',
  },
  copy_unfinished: {
    problem: '{place} contains an unfinished copy',
    remedy: 'run the same {purser} migrate copy again, or use another database',
  },
} as const satisfies Record<string, { problem: string; remedy: string | undefined }>

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
      Record<
        Exclude<Words<(typeof sentences)[Code][keyof (typeof sentences)[Code]]>, keyof Spelling>,
        string | number
      >
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

function render(code: OpenErrorCode, values: Values, spelling: Partial<Spelling>): string {
  const { problem, remedy } = sentences[code]
  const words: Values = { ...defaultSpelling, ...spelling, ...values }
  const template = remedy === undefined ? problem : `${problem}; ${remedy}`
  return template.replace(/\{(\w+)\}/g, (_, word: string) => String(words[word]))
}
