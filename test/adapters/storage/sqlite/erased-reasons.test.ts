/** An erased reason leaves no trace in the file of SQLite, which by default keeps deleted text in free space. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { recordAct } from '../../../../application/decisions/operator-act.ts';
import { plusSeconds } from '../../../../domain/instant.ts';
import type { OperatorAct } from '../../../../domain/operators/operator-act.ts';
import { sqliteFile } from '../../../support/databases.ts';
import { NOON } from '../../../support/domain-fixtures.ts';

/** Several pages of rows: when the first page is full, SQLite copies its rows to another page. */
const ACTS = 100;
const ERASED = 60;

const act = (nth: number): OperatorAct => ({
  operator: { kind: 'person', issuer: 'https://idp.example', subject: 'rita', sponsorKey: undefined, roles: [] },
  role: 'responder',
  route: 'DELETE /admin/tasks/{task_id}',
  reason: `Incident <${nth}> of Grace`,
  at: plusSeconds(NOON, nth),
  sealed: { salt: `salt<${nth}>`, hash: 'a'.repeat(64) },
});

/** The numbers of the acts whose reason or salt the file contains, in order. */
function actsIn(file: string, pattern: RegExp): readonly number[] {
  const found = [...readFileSync(file, 'latin1').matchAll(pattern)].map(([, nth]) => Number(nth));
  return [...new Set(found)].sort((a, b) => a - b);
}

describe('The SQLite file', () => {
  it('does not contain the reasons and salts that were erased, and contains the others', async () => {
    const fresh = await sqliteFile.fresh();
    const storage = await fresh.open();
    for (let nth = 0; nth < ACTS; nth += 1) await storage.decide(recordAct, act(nth));
    expect(await storage.sweeping.eraseReasons(plusSeconds(NOON, ERASED - 1), ACTS)).to.equal(ERASED);
    await storage.close();
    const file = fresh.settings['Service:Database:Path'] ?? '';
    const kept = Array.from({ length: ACTS - ERASED }, (_, index) => ERASED + index);
    expect(actsIn(file, /Incident <(\d+)>/g)).to.deep.equal(kept);
    expect(actsIn(file, /salt<(\d+)>/g)).to.deep.equal(kept);
    await fresh.drop();
  });
});
