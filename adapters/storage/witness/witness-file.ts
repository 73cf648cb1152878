/** The memory of a witness: a SQLite file with its verifier key, and the newest checkpoint of each log. */

import { open, rm } from 'node:fs/promises';
import type { ReadinessCheck } from '../../../application/ports/runtime.ts';
import type { WitnessedCheckpoint, WitnessedLogs } from '../../../application/ports/witnessed-logs.ts';
import { type Connection, openConnection } from '../sqlite/connection.ts';
import { asUnavailable } from '../sqlite/errors.ts';
import { openHandle } from '../sqlite/handle.ts';

/** "MNWT" marks the file as the memory of a witness. */
const APPLICATION_ID = 0x4d4e5754;

const neverBackwards = `create trigger never_backwards before update on witnessed_logs
when new.origin <> old.origin or new.size < old.size or (new.size = old.size and new.root <> old.root)
  or new.seconds < old.seconds
begin
  select raise(abort, 'a log only grows');
end;`;

/** The triggers refuse what would let the witness contradict itself, whatever the code does. */
const schema = `
pragma application_id = ${APPLICATION_ID};
create table witness (vkey text not null) strict;
create table witnessed_logs (
  origin text primary key,
  size integer not null check (size >= 0),
  root text not null,
  seconds integer not null,
  note text not null
) strict;
${neverBackwards}
create trigger never_forgotten before delete on witnessed_logs
begin
  select raise(abort, 'a witness forgets no log');
end;`;

const selectId = 'select application_id from pragma_application_id';
const selectKey = 'select vkey from witness';
const insertKey = 'insert into witness (vkey) values (?)';
const selectNewest = 'select origin, size, root, seconds, note from witnessed_logs where origin = ?';
const insert = `insert into witnessed_logs (origin, size, root, seconds, note) values (?, ?, ?, ?, ?)
  on conflict do nothing`;
const update = `update witnessed_logs set size = ?, root = ?, seconds = ?, note = ?
  where origin = ? and size = ? and root = ? and seconds = ?`;

const selectAhead = 'select origin, seconds from witnessed_logs where seconds > ? order by origin';
const lowerTimes = 'update witnessed_logs set seconds = ? where seconds > ?';

interface LoweredTime {
  readonly origin: string;
  /** Before. */
  readonly seconds: number;
}

export interface WitnessFile {
  /** The verifier key with which the file was created. */
  readonly vkey: string;
  readonly logs: WitnessedLogs;
  /**
   * Lowers the time of each last cosignature that is later. Sizes and roots stay, and with them what the witness has
   * promised. Only an operator asks for it, after the clock was ahead.
   */
  acceptTime(seconds: number): Promise<readonly LoweredTime[]>;
  readonly readiness: ReadinessCheck;
  close(): Promise<void>;
}

/** @throws Error with the code EEXIST if there is such a file: nothing is ever overwritten */
export async function createWitnessFile(path: string, vkey: string): Promise<void> {
  await (await open(path, 'wx', 0o600)).close();
  try {
    const connection = await openConnection(path);
    try {
      await connection.write((run) => {
        connection.script(schema);
        run(insertKey, [vkey]);
      });
    } finally {
      await connection.close();
    }
  } catch (error) {
    // An empty file would be refused as the state of a witness, and would not be overwritten either.
    await rm(path, { force: true });
    throw error;
  }
}

/**
 * Opens the state file of a witness. It creates no file, and changes no file of another program.
 * @throws StorageUnavailable, or the error of opening the file
 */
export async function openWitnessFile(path: string): Promise<WitnessFile | 'not_a_witness_file'> {
  await (await open(path, 'r+')).close();
  const vkey = readKey(path);
  if (vkey === undefined) return 'not_a_witness_file';
  const connection = await openConnection(path);
  return {
    vkey,
    logs: witnessedLogs(connection),
    acceptTime: (seconds) => acceptTime(connection, seconds),
    ...surroundings(connection),
  };
}

function acceptTime(connection: Connection, seconds: number): Promise<readonly LoweredTime[]> {
  return connection.write((run) => {
    const { rows } = run<LoweredTime>(selectAhead, [seconds]);
    if (rows.length === 0) return rows;
    // The trigger refuses an earlier time. It is back before any other process can write.
    connection.script('drop trigger never_backwards');
    run(lowerTimes, [seconds, seconds]);
    connection.script(neverBackwards);
    return rows;
  });
}

/** Only reads, because `openConnection` would write to an empty file. */
function readKey(path: string): string | undefined {
  const handle = openHandle(path);
  try {
    const id = handle.prepare<{ application_id: number }>(selectId).get()?.application_id;
    return id === APPLICATION_ID ? handle.prepare<{ vkey: string }>(selectKey).get()?.vkey : undefined;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'SQLITE_NOTADB') return undefined;
    throw asUnavailable(error);
  } finally {
    handle.close();
  }
}

function witnessedLogs({ read, write }: Connection): WitnessedLogs {
  return {
    newest: (origin) => read((run) => run<WitnessedCheckpoint>(selectNewest, [origin]).rows[0]),
    replace: (known, { origin, size, root, seconds, note }) =>
      write((run) => {
        const { count } =
          known === undefined
            ? run(insert, [origin, size, root, seconds, note])
            : run(update, [size, root, seconds, note, origin, known.size, known.root, known.seconds]);
        return count === 1 ? 'replaced' : 'overtaken';
      }),
  };
}

function surroundings({ write, outcomes, close }: Connection): Pick<WitnessFile, 'readiness' | 'close'> {
  const check: ReadinessCheck['check'] = async () => {
    const takesWrites = await write(() => undefined).then(
      () => outcomes.failing() === undefined,
      () => false,
    );
    return takesWrites
      ? { status: 'Healthy', detail: 'The state file takes writes.' }
      : { status: 'Unhealthy', detail: 'The state file takes no writes, or is no longer at its path.' };
  };
  return { readiness: { name: 'state', check }, close };
}
