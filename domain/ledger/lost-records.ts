/**
 * Compares records that a sink received with the database that went back in time (`mandate after-restore --sink`). The
 * records say which blocks and ends the database has lost.
 */

import { isJsonObject, type Json, type JsonObject, member, parseStrictJson } from '../tokens/strict-json.ts';
import { type LedgerRecord, presentRecord } from './record.ts';

export interface SinkRecord {
  readonly seq: number;
  readonly event: string;
  /** The members of the JSON object. */
  readonly json: JsonObject;
}

/** Reads a record, or the body of a delivery: `{"records": [...]}`. Returns the problem of an unusable line. */
export function readSinkLine(line: string): readonly SinkRecord[] | string {
  const json = parseStrictJson(line);
  if (json === undefined) return 'is no JSON, or names a member twice';
  if (!isJsonObject(json)) return 'is no JSON object';
  const records = member(json, 'records');
  const listed: readonly Json[] | undefined =
    records === undefined ? [json] : Array.isArray(records) ? records : undefined;
  if (listed === undefined) return 'has records that are no list';
  const read = listed.map(readRecord);
  return read.every((record) => record !== undefined) ? read : 'holds something that is no record of the ledger';
}

function readRecord(json: Json): SinkRecord | undefined {
  if (!isJsonObject(json)) return undefined;
  const seq = member(json, 'seq');
  const event = member(json, 'event');
  if (typeof seq !== 'number' || !Number.isSafeInteger(seq) || seq < 1) return undefined;
  return typeof event === 'string' && typeof member(json, 'ts') === 'string' ? { seq, event, json } : undefined;
}

/** Whether the database holds the same record. The sink may have it from before its checkpoint. */
export function isSameRecord({ json }: SinkRecord, stored: LedgerRecord): boolean {
  const { checkpoint: _, ...expected } = presentRecord(stored);
  const names = Object.keys(json).filter((name) => name !== 'checkpoint');
  return (
    names.length === Object.keys(expected).length &&
    names.every((name) => Object.hasOwn(expected, name) && json[name] === expected[name])
  );
}

/** Acts that an operator must repeat. */
export interface Repetition {
  readonly seq: number;
  readonly event: string;
  /** The request that repeats it, or what to compare. */
  readonly request: string;
}

/** The request that repeats a lost record's effect. `undefined` if there is nothing to repeat. */
export function repetitionOf({ seq, event, json }: SinkRecord): Repetition | undefined {
  const request = requestOf(event, json);
  return request === undefined ? undefined : { seq, event, request };
}

function requestOf(event: string, json: JsonObject): string | undefined {
  const named = (name: string) => {
    const value = member(json, name);
    return typeof value === 'string' ? encodeURIComponent(value.toWellFormed()) : undefined;
  };
  switch (event) {
    case 'sponsor.blocked':
      return on(named('sponsor'), (key) => `PUT /admin/sponsors/${key}/block`);
    case 'sponsor.unblocked':
      return on(
        named('sponsor'),
        (key) => `DELETE /admin/sponsors/${key}/block, unless a later line blocks the person`,
      );
    case 'sponsor.signal':
      return on(named('sponsor'), (key) => `PUT /admin/sponsors/${key}/block, if the signal blocked the person`);
    case 'token.revoked':
      return on(named('task_id'), (task) => `DELETE /admin/tasks/${task}, which ends the task of the revoked token`);
    case 'task.revoked':
      return on(named('task_id'), (task) => `DELETE /admin/tasks/${task}`);
    case 'delegation.refused':
    case 'delegation.allowed': {
      const method = event === 'delegation.refused' ? 'PUT' : 'DELETE';
      return on(named('agent_id'), (agent) =>
        on(
          named('sponsor'),
          (person) => `${method} /me/agents/${agent}/no-delegation, which only the person ${person} can send`,
        ),
      );
    }
    case 'agent.updated':
      return on(
        named('agent_id'),
        (agent) => `GET /admin/agents/${agent}, compare, and disable the agent if it was disabled`,
      );
    case 'agent.deleted':
      return on(named('agent_id'), (agent) => `DELETE /admin/agents/${agent}`);
    default:
      return undefined;
  }
}

function on(name: string | undefined, request: (name: string) => string | undefined): string | undefined {
  return name === undefined ? undefined : request(name);
}
