/** While commits wait for a synchronous standby that is away, no switch answers that there is nothing to end. */

import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { LIMITS, POOL_SIZE } from '../../../adapters/storage/postgres/limits.ts';
import { stopTasks } from '../../../application/admin/stop-tasks.ts';
import { stopMyTasks } from '../../../application/me/stop-my-tasks.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { removeUser } from '../../../application/signals/provision-user.ts';
import { makeTaskId, makeUserId, type SponsorKey } from '../../../domain/identifiers.ts';
import { agreeing, movedClock } from '../../support/moved-clock.ts';
import type { Storage } from '../../support/storage.ts';
import { type OwnPostgres, ownPostgres } from './own-postgres.ts';

const POLL_MS = 5;
const sponsorKey = 'ada' as SponsorKey;
const ulid = '01J00000000000000000000000';
const unavailable = (error: unknown) => error instanceof StorageUnavailable;

describe('While a synchronous standby is away', function () {
  this.timeout(60_000);
  let own: OwnPostgres;
  let storage: Storage;

  before(async () => {
    own = await ownPostgres();
    const { open } = await own.database.fresh();
    // A commit that waits for the standby is given up after half a second.
    storage = await open({ limits: { ...LIMITS, revoking: { ...LIMITS.revoking, query: 500 } } });
  });
  after(async () => {
    await standby('');
    await storage.close();
    await own.postgres.stop();
  });

  const waiting: Promise<unknown>[] = [];
  const standby = async (names: string) => {
    await own.sql(`alter system set synchronous_standby_names = '${names}'`);
    await own.sql('select pg_reload_conf()');
    if (names !== '') {
      // The reload has arrived when a commit waits.
      do {
        waiting.push(own.sql("select pg_logical_emit_message(true, 'test', '')"));
        await pause(POLL_MS);
      } while ((await own.sql("select from pg_stat_activity where wait_event = 'SyncRep'")).length === 0);
    } else await Promise.all(waiting.splice(0));
  };
  const SWITCHES = {
    'an unknown task': [() => stopTasks(service(), { kind: 'task', taskId: makeTaskId(ulid) }), { kind: 'not_found' }],
    'a person without tasks': [
      () => stopTasks(service(), { kind: 'sponsor', sponsorKey }),
      { kind: 'ended', tasks: 0 },
    ],
    "an unknown task, by a person's stop": [
      () => stopMyTasks(service(), person, { kind: 'task', taskId: makeTaskId(ulid) }),
      { kind: 'not_found' },
    ],
    'an unknown SCIM user': [
      () => removeUser({ ...service(), users: storage.provisionedUsers }, makeUserId(ulid)),
      'not_found',
    ],
  } as const;
  const person = { subject: 'ada', sponsorKey, sessionId: undefined, authenticatedAt: undefined, by: 'token' } as const;
  const service = () => ({ decisions: storage, tasks: storage.tasks, sharedTime: agreeing(movedClock()) });

  for (const [about, [ask, answer]] of Object.entries(SWITCHES)) {
    it(`${about}: unavailable, and the answer when commits no longer wait`, async () => {
      await standby('nobody');
      try {
        // Rejects with what surfaces answer as 503.
        const outcome = await ask().catch((error: unknown) => error);
        expect(outcome).to.satisfy(unavailable);
      } finally {
        await standby('');
      }
      expect(await ask()).to.deep.equal(answer);
    });
  }

  it('the writes of the log leave connections to reads', async () => {
    const { open } = await own.database.fresh();
    const impatient = await open({ limits: { ...LIMITS, serving: { ...LIMITS.serving, acquire: 500, query: 200 } } });
    const problem = { witness: 'w', kind: 'unavailable', detail: undefined, since: movedClock().now() } as const;
    await standby('nobody');
    try {
      for (let attempts = 0; attempts < POOL_SIZE; attempts++) {
        const outcome = await impatient.transparencyLog.keepProblem('w', problem).catch((error: unknown) => error);
        expect(outcome).to.satisfy(unavailable);
      }
      expect(await impatient.tasks.findSponsor(makeTaskId(ulid))).to.equal(undefined);
    } finally {
      await standby('');
      await impatient.close();
    }
  });
});
