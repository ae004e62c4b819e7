import { execute } from './postgres-databases.ts'

/**
 * Lets writes to a PostgreSQL ledger fail like on a full disk, such as `insert on agents`. The returned function ends that.
 */
export async function fillDisk(url: string, ...writes: readonly string[]): Promise<() => Promise<void>> {
  await execute(
    url,
    `create function no_room() returns trigger language plpgsql as
       $$ begin raise exception 'no room' using errcode = '53100'; end $$`,
  )
  for (const write of writes) {
    await execute(url, `create trigger no_room before ${write} for each row execute function no_room()`)
  }
  return async () => void (await execute(url, 'drop function no_room cascade'))
}
