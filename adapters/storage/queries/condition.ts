/** The parts of the condition of a database (`mandate doctor`) that both engines read by queries. */

import type { StorageCondition } from '../../../application/ports/storage.ts';
import { outboxBacklog, sealingBacklog } from './backlog.ts';
import { besideLedger } from './beside-ledger.ts';
import { listCheckpointKeys, listExports } from './checkpoints.ts';
import { signalEndedNothing } from './ledger.ts';
import type { Ask } from './query.ts';
import { signInsSeen } from './sign-ins.ts';

type Queried = 'sealing' | 'listedExports' | 'outbox' | 'signalEndedNothing' | 'signIns' | 'besideLedger';

export function queriedCondition(ask: Ask): Pick<StorageCondition, Queried> {
  return {
    sealing: async () => ({ ...(await sealingBacklog(ask)), signers: await ask(listCheckpointKeys, undefined) }),
    listedExports: () => ask(listExports, undefined),
    outbox: () => ask(outboxBacklog, undefined),
    signalEndedNothing: (about) => ask(signalEndedNothing, about),
    signIns: (question) => ask(signInsSeen, question),
    besideLedger: (question) => besideLedger(ask, question),
  };
}
