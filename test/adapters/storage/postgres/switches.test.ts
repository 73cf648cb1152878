import { expect } from 'chai';
import { LIMITS } from '../../../../adapters/storage/postgres/limits.ts';
import { openPostgres } from '../../../../adapters/storage/postgres/open.ts';
import type { Storage } from '../../../../adapters/storage/storage.ts';
import { type StopSelection, stopTasks } from '../../../../application/admin/stop-tasks.ts';
import { stopMyTasks } from '../../../../application/me/stop-my-tasks.ts';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import type { AgentId, SponsorKey, TaskId } from '../../../../domain/identifiers.ts';
import type { MePerson } from '../../../../domain/sponsors/me-person.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import { movedClock } from '../../../support/moved-clock.ts';
import { DATABASE, type OwnPostgres, ownPostgres } from '../../../system/outages/own-postgres.ts';

const PERSON = 'person' as SponsorKey;
const TASK = 'task_01HZZZZZZZZZZZZZZZZZZZZZZZ' as TaskId;

/** Long enough for a switch, and short enough to wait for. */
const ANSWER_MS = 400;

describe('A switch that finds nothing, on Postgres', function () {
  this.timeout(30_000);
  let own: OwnPostgres;
  let storage: Storage;

  before(async () => {
    own = await ownPostgres();
    const revoking = { ...LIMITS.revoking, query: ANSWER_MS };
    storage = await openPostgres(
      { connectionString: own.postgres.server.url('serving', DATABASE), limits: { ...LIMITS, revoking } },
      { clock: movedClock(), log: capturedLog() },
    );
  });
  afterEach(async () => {
    await own.sql('alter system reset synchronous_standby_names');
    await own.sql('select pg_reload_conf()');
  });
  after(async () => {
    await storage.close();
    await own.postgres.stop();
  });

  const loseStandby = async () => {
    await own.sql("alter system set synchronous_standby_names to 'nobody'");
    await own.sql('select pg_reload_conf()');
  };
  const service = () => ({
    decisions: storage,
    tasks: storage.tasks,
    sharedTime: { earliest: () => movedClock().now() },
  });
  const byOperator = (selection: StopSelection) => () => stopTasks(service(), selection);
  const nothing = { kind: 'ended', tasks: 0 };
  const unknown = { kind: 'not_found' };
  const switches = {
    'by an operator for a person': { stop: byOperator({ kind: 'sponsor', sponsorKey: PERSON }), answer: nothing },
    'by an operator for a task': { stop: byOperator({ kind: 'task', taskId: TASK }), answer: unknown },
    'by an operator for an agent': { stop: byOperator({ kind: 'agent', agentId: 'none' as AgentId }), answer: unknown },
    'by the person': {
      stop: () => stopMyTasks(service(), { sponsorKey: PERSON } as MePerson, { kind: 'sponsor' }),
      answer: nothing,
    },
    'by the person for a task': {
      stop: () => stopMyTasks(service(), { sponsorKey: PERSON } as MePerson, { kind: 'task', taskId: TASK }),
      answer: unknown,
    },
  };

  for (const [how, { stop, answer }] of Object.entries(switches)) {
    it(`answers only once the synchronous standby has answered: ${how}`, async () => {
      expect(await stop()).to.deep.equal(answer);
      await loseStandby();
      expect(await stop().catch((error: unknown) => error)).to.be.instanceOf(StorageUnavailable);
    });
  }
});
