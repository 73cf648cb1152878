/** A process is killed after it has used up a yes, and before its answer: no tool server is ever told of that yes. */

import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { LOCK } from '../../../../adapters/storage/postgres/locks.ts';
import { toBytes } from '../../../../scripts/bench/load.ts';
import { processProgram } from '../../../../scripts/bundled-programs.ts';
import { withCleanup } from '../../../../scripts/cleanup.ts';
import { sealedLedger } from '../../../../scripts/faults/checks/reconcile.ts';
import { openSession } from '../../../../scripts/faults/load/session.ts';
import type { Service } from '../../../../scripts/faults/service.ts';
import { ADMIN_KEY, makeReplicas } from '../../../../scripts/faults/testbed.ts';
import {
  AUDIENCE,
  agentRequests,
  approvalRequests,
  approvalSettings,
  type HttpRequest,
  makeLoadAgent,
  operatorRequests,
} from '../../../../scripts/requests.ts';
import type { TemporaryPostgres } from '../../../../scripts/temporary-database.ts';
import { startIdentityProvider } from '../../../support/identity-provider/identity-provider.ts';
import { askingServer } from '../../../support/tool-server/approval-request.ts';

const ISSUER = 'https://mandate.test';
const CALL = 'delete 7';
const program = [processProgram(fileURLToPath(new URL('../../../../composition/main.ts', import.meta.url)))];

/** Kills the service once the request has used up the yes. Resolves when nothing more happens to it. */
type Kill = (service: Service, request: HttpRequest, postgres: TemporaryPostgres | undefined) => Promise<void>;

const KILLS: Readonly<Record<'sqlite' | 'postgres', Kill>> = {
  /** The answer has left the process, and the tool server does not read it. */
  async sqlite(service, request) {
    const socket = connect(service.port, '127.0.0.1');
    socket.write(toBytes({ host: '127.0.0.1', port: service.port }, request));
    await once(socket, 'readable');
    await service.end('SIGKILL');
    socket.destroy();
  },

  /** The yes is used up on disk, and the commit waits for a standby that is not there. So the service has not answered. */
  async postgres(service, request, postgres) {
    if (postgres === undefined) throw new Error('there is no Postgres');
    const { query } = postgres;
    await query("alter system set synchronous_standby_names = 'absent'");
    await query('select pg_reload_conf()');
    const write = () => query("select pg_logical_emit_message(true, 'a write', '')").then(() => true);
    while (await Promise.race([write(), pause(300).then(() => false)]));
    const session = openSession([service.url]);
    const asked = session.send(request);
    // Other transactions wait as well.
    const waiting = () =>
      query(`select 1 from pg_stat_activity a join pg_locks l using (pid)
        where a.wait_event = 'SyncRep' and l.locktype = 'advisory' and l.classid = ${LOCK.signal}`);
    while ((await waiting()).length === 0) await pause(20);
    await service.end('SIGKILL');
    expect((await asked).status).to.equal(0);
    session.close();
    await query('alter system reset synchronous_standby_names');
    await query('select pg_reload_conf()');
    while ((await waiting()).length > 0) await pause(20);
  },
};

describe('A yes whose answer is lost', function () {
  this.timeout(120_000);

  for (const engine of ['sqlite', 'postgres'] as const) {
    const replicas = engine === 'sqlite' ? 1 : 2;

    it(`is used up: no other request is answered as granted (${engine}, ${replicas} processes)`, () =>
      withCleanup(async (cleanup) => {
        const provider = await startIdentityProvider({ algorithm: 'ES256' });
        cleanup(() => provider.stop());
        const times = { issuer: () => ISSUER, now: () => Math.floor(Date.now() / 1000) };
        const server = await askingServer(AUDIENCE, times);
        const settings = {
          'Service:UpstreamIdp:Issuer': provider.issuer,
          'Service:UpstreamIdp:Audience': provider.audience,
          'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
          ...approvalSettings(server),
        };
        const bed = await makeReplicas({ engine, program, replicas, issuer: ISSUER, settings, cleanup });
        await bed.start();
        const [first] = bed.services;
        const session = openSession([bed.services[bed.services.length - 1]?.url ?? first.url]);
        cleanup(session.close);
        const [requests, operator] = [approvalRequests(server, provider), operatorRequests(ADMIN_KEY)];
        const agent = await makeLoadAgent();
        await session.send(operator.register(agent));
        const { body: issued } = await session.send(agentRequests(ISSUER, provider).exchange(agent, 'ada'));
        const task = { token: String(issued.access_token), task: String(issued.task_id) };
        const ask = () => requests.askForApproval(task, CALL);
        const { approval_id: id } = (await session.send(ask())).body;
        const { approvals } = (await session.send(requests.readWaiting('ada'))).body;
        const [{ commitment }] = approvals as [{ commitment: string }];
        const yes = requests.answerApproval('ada', String(id), { decision: 'approve', commitment });
        expect((await session.send(yes)).body).to.deep.equal({ state: 'granted' });

        await KILLS[engine](first, ask(), bed.postgres);
        first.start();
        await first.untilReady();
        for (const nth of [1, 2]) expect((await session.send(ask())).body, `${nth}`).to.deep.equal({ state: 'spent' });

        const lines = (await sealedLedger(session, operator, 20_000)).filter(({ task_id }) => task_id === task.task);
        expect(lines.map(({ event }) => event)).to.deep.equal([
          'token.issued',
          'approval.requested',
          'approval.granted',
          'approval.used',
        ]);
      }));
  }
});
