/** Erased and deleted words leave no trace in the file of SQLite, which by default keeps deleted text in free space. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { openTask } from '../../../../application/decisions/open-task.ts';
import { recordAct } from '../../../../application/decisions/operator-act.ts';
import { refuse } from '../../../../application/decisions/refuse.ts';
import { deleteEndedTasks } from '../../../../application/decisions/sweep.ts';
import { plusSeconds } from '../../../../domain/instant.ts';
import type { OperatorAct } from '../../../../domain/operators/operator-act.ts';
import { anOpening, aPurpose, aRefusal, registeredAgent } from '../../../contract/storage-fixtures.ts';
import { keptRequest } from '../../../support/authorize/allowed-request.ts';
import { sqliteFile } from '../../../support/databases.ts';
import { NOON } from '../../../support/domain-fixtures.ts';
import { movedClock } from '../../../support/moved-clock.ts';

/** Several pages of rows: when the first page is full, SQLite copies its rows to another page. */
const ACTS = 100;
const ERASED = 60;
const TASKS = 90;
const REQUESTS = 60;

const act = (nth: number): OperatorAct => ({
  operator: { kind: 'person', issuer: 'https://idp.example', subject: 'rita', sponsorKey: undefined, roles: [] },
  role: 'responder',
  route: 'DELETE /admin/tasks/{task_id}',
  reason: `Incident <${nth}> of Grace`,
  at: plusSeconds(NOON, nth),
  sealed: { salt: `salt<${nth}>`, hash: 'a'.repeat(64) },
});

/** The numbers in texts that match and that the file contains, in order. */
function numbersIn(file: string, pattern: RegExp): readonly number[] {
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
    expect(numbersIn(file, /Incident <(\d+)>/g)).to.deep.equal(kept);
    expect(numbersIn(file, /salt<(\d+)>/g)).to.deep.equal(kept);
    await fresh.drop();
  });

  it('does not contain the purposes and salts of the tasks that were deleted, and contains the others', async () => {
    const fresh = await sqliteFile.fresh();
    const storage = await fresh.open();
    const agent = await registeredAgent(storage);
    for (let nth = 0; nth < TASKS; nth += 1) {
      const opening = anOpening(agent);
      const { taskId } = opening.task;
      const purpose = aPurpose(opening.task, { words: `Holiday <${nth}> of Grace`, salt: `salt<${nth}>` });
      expect((await storage.decide(openTask, { ...opening, purpose })).kind).to.equal('opened');
      if (nth % 3 > 0) await storage.tasks.end({ kind: 'task', taskId }, { at: NOON, reason: 'operator_kill_switch' });
    }
    expect(await storage.decide(deleteEndedTasks, { endedBy: NOON, limit: TASKS })).to.equal((TASKS / 3) * 2);
    await storage.close();
    const file = fresh.settings['Service:Database:Path'] ?? '';
    const kept = Array.from({ length: TASKS / 3 }, (_, index) => 3 * index);
    expect(numbersIn(file, /Holiday <(\d+)>/g)).to.deep.equal(kept);
    expect(numbersIn(file, /salt<(\d+)>/g)).to.deep.equal(kept);
    await fresh.drop();
  });

  it('does not contain the words of requests that were deleted or whose code was spent, and contains the others', async () => {
    const fresh = await sqliteFile.fresh();
    const storage = await fresh.open();
    const agent = await registeredAgent(storage);
    const service = { storage, clock: movedClock() };
    service.clock.standStill();
    const now = service.clock.now();
    for (let nth = 0; nth < REQUESTS; nth += 1) {
      // The longest `state`: SQLite stores such a row in several pages.
      const clientState = `State <${nth}> ${'s'.repeat(2000)}`;
      const terms = { purpose: `Errand <${nth}> of Grace`, clientState, expiresAt: plusSeconds(now, 60 + nth) };
      const request = await keptRequest(service, agent.agentId, { sub: `ada-${nth}`, ...terms });
      if (nth % 3 !== 1) continue;
      await request.answer();
      const entry = aRefusal('audience_mismatch', { agentId: agent.agentId });
      await storage.decide(refuse, { entry, spentCode: request.authorization.requestId });
    }
    // Those without an answer whose time was up an hour before.
    expect(await storage.sweeping.forget(plusSeconds(now, 3600 + 60 + REQUESTS / 2 - 1), REQUESTS)).to.be.greaterThan(
      0,
    );
    await storage.close();
    const file = fresh.settings['Service:Database:Path'] ?? '';
    const kept = Array.from({ length: REQUESTS }, (_, nth) => nth).filter(
      (nth) => nth % 3 !== 1 && nth >= REQUESTS / 2,
    );
    expect(numbersIn(file, /Errand <(\d+)>/g)).to.deep.equal(kept);
    expect(numbersIn(file, /State <(\d+)>/g)).to.deep.equal(kept);
    await fresh.drop();
  });
});
