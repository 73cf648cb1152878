/** The purposes that agents state: stored with the task and its records, and deleted with the task. */

import { expect } from 'chai';
import { openTask } from '../../application/decisions/open-task.ts';
import { deleteEndedTasks } from '../../application/decisions/sweep.ts';
import { plusSeconds } from '../../domain/instant.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { anOpening, aPurpose, asEntry, recordedBy, registeredAgent } from './storage-fixtures.ts';

onEveryDatabase('purposes', ({ storage, outside }) => {
  const stored = async () => {
    const connection = await outside();
    const rows = await connection.sql('select task_id, purpose, salt from task_purposes order by task_id');
    return rows.map(({ task_id, purpose, salt }) => ({ task_id, purpose, salt }));
  };

  it('are stored with their task, and recorded after it in the same transaction', async () => {
    const opening = anOpening(await registeredAgent(storage()));
    const purpose = aPurpose(opening.task);
    const records = await recordedBy(storage(), () => storage().decide(openTask, { ...opening, purpose }));
    expect(records.map(asEntry)).to.deep.equal([opening.entry, purpose.entry]);
    const { taskId } = opening.task;
    const { words, salt } = purpose.stated;
    expect(await stored()).to.deep.include({ task_id: taskId, purpose: words, salt });
    expect((await storage().tasks.findListed(taskId, NOON))?.purpose).to.deep.equal({ words, salt });
  });

  it('of a task that is refused are neither stored nor recorded', async () => {
    const agent = await registeredAgent(storage());
    const opening = anOpening(agent);
    const replayed = { ...anOpening(agent), assertion: opening.assertion };
    await storage().decide(openTask, opening);
    const records = await recordedBy(storage(), async () => {
      const verdict = await storage().decide(openTask, { ...replayed, purpose: aPurpose(replayed.task) });
      expect(verdict).to.deep.equal({ kind: 'replayed' });
    });
    expect(records).to.deep.equal([]);
    expect((await stored()).map(({ task_id }) => task_id)).not.to.include(replayed.task.taskId);
  });

  it('are deleted with their tasks, the others stay, and the ledger keeps its records', async () => {
    const agent = await registeredAgent(storage());
    const openings = Array.from({ length: 4 }, () => anOpening(agent));
    for (const opening of openings) {
      await storage().decide(openTask, { ...opening, purpose: aPurpose(opening.task) });
    }
    const [ended, live] = [openings.slice(0, 2), openings.slice(2)];
    const idsOf = (of: typeof openings) => of.map(({ task }) => task.taskId);
    for (const taskId of idsOf(ended)) {
      await storage().tasks.end({ kind: 'task', taskId }, { at: NOON, reason: 'operator_kill_switch' });
    }
    const records = await recordedBy(storage(), async () => {
      expect(await storage().decide(deleteEndedTasks, { endedBy: plusSeconds(NOON, 1), limit: 1000 })).to.be.at.least(
        ended.length,
      );
    });
    expect(records).to.deep.equal([]);
    const left = (await stored()).map(({ task_id }) => task_id);
    expect(left).to.include.members(idsOf(live)).and.not.include.members(idsOf(ended));
  });
});
