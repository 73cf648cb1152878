/** What an exchange stores and records of the purpose that the agent stated (`Service:Tasks:Purpose`). */

import { saltedText } from '../../domain/ledger/sealed-text.ts';
import { purposeDetail } from '../../domain/tasks/purpose.ts';
import type { Task } from '../../domain/tasks/task.ts';
import type { TaskOpening } from '../decisions/open-task.ts';
import { type Sealing, sealText } from '../seal-text.ts';

/** @param words `undefined` if the agent stated no purpose */
export function statePurpose(sealing: Sealing, task: Task, words: string | undefined): TaskOpening['purpose'] {
  if (words === undefined) return undefined;
  const { salt, hash } = sealText(sealing, (salt) => saltedText(salt, words));
  const { taskId, agentId, sponsor, createdAt } = task;
  return {
    stated: { words, salt },
    entry: {
      at: createdAt,
      event: 'purpose.stated',
      taskId,
      agentId,
      sponsor,
      decision: 'allow',
      detail: purposeDetail(hash),
    },
  };
}
