/**
 * An operator, SCIM and Shared Signals block one person, on two replicas of one database. No source replaces or lifts
 * the block of another source. The person is refused until no block is left.
 */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { repetitions } from '../contract/repetitions.ts';
import { databases } from '../support/databases.ts';
import { type Answer, type LedgerLine, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { scimClient, scimSettings } from '../support/scim-client.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';
import { PUSH_HEADERS, startTransmitter, type Transmitter } from '../support/transmitter.ts';

const RISC = 'https://schemas.openid.net/secevent/risc/event-type/';
const HOUR = 3600;
const RUNS = repetitions(5);

type Source = 'admin' | 'scim' | 'ssf';

/** The three sources in every order. */
const ORDERS: readonly (readonly [Source, Source, Source])[] = [
  ['admin', 'scim', 'ssf'],
  ['admin', 'ssf', 'scim'],
  ['scim', 'admin', 'ssf'],
  ['scim', 'ssf', 'admin'],
  ['ssf', 'admin', 'scim'],
  ['ssf', 'scim', 'admin'],
];

const KINDS = { admin: 'disabled', scim: 'disabled', ssf: 'deleted' } as const;
const DENIALS = { disabled: 'sponsor_disabled', deleted: 'sponsor_not_found' } as const;
const PLACED = {
  admin: 'sponsor.blocked allow sponsor_blocked',
  scim: 'sponsor.signal allow scim_deactivated',
  ssf: 'sponsor.signal allow ssf_account_purged',
} as const;
const LIFTED = {
  admin: 'sponsor.unblocked allow operator_unblocked',
  scim: 'sponsor.signal allow scim_reactivated',
  ssf: 'sponsor.signal allow ssf_account_enabled',
} as const;

const inBrief = ({ event, decision, reason }: LedgerLine) => `${event} ${decision} ${reason}`;

for (const database of databases) {
  describe(`Blocks of several sources on ${database.name}`, function () {
    this.timeout(60_000);
    let transmitter: Transmitter;
    let mandate: Mandate;
    let replica: Mandate;
    let agent: RegisteredAgent;
    before(async () => {
      transmitter = await startTransmitter(() => mandate.clock.seconds());
      const settings = { ...sharedSigningKey(), ...scimSettings, ...transmitter.settings };
      mandate = await startMandate({ database, settings });
      replica = await mandate.another({});
      agent = await mandate.agent();
    });
    after(async () => {
      await replica.stop();
      await mandate.stop();
      await transmitter.stop();
    });

    /** Moves the clocks of both replicas, so that each block has another time. */
    const later = () => {
      for (const instance of [mandate, replica]) instance.clock.advance(1);
    };
    const exchange = (sub: string, at: Mandate = mandate) =>
      at.post('/oauth2/token', agent.exchangeForm({ subject_token: agent.subjectToken({ sub }) }));
    const isActive = async (issued: Answer) => (await replica.introspect(issued)).active;
    const expectRefused = async (sub: string, kind: 'disabled' | 'deleted') => {
      for (const at of [mandate, replica]) {
        const { status, body } = await exchange(sub, at);
        expect([status, body.error, body.reason]).to.deep.equal([400, 'access_denied', DENIALS[kind]]);
      }
    };
    const shown = (sub: string, at: Mandate = mandate) => at.admin('GET', `/admin/sponsors/${sub}`);

    /** The requests of each source about one person. The first SCIM write creates the user. */
    function aPerson() {
      const sub = randomUUID();
      let user: string | undefined;
      const operator = (method: 'PUT' | 'DELETE', at: Mandate) => at.admin(method, `/admin/sponsors/${sub}/block`);
      const provision = async (active: boolean, at: Mandate) => {
        if (user !== undefined) {
          const Operations = [{ op: 'replace', path: 'active', value: active }];
          return scimClient(at).send('PATCH', `/Users/${user}`, { Operations });
        }
        const answer = await scimClient(at).send('POST', '/Users', { userName: sub, externalId: sub, active });
        user = String(answer.body.id);
        return answer;
      };
      const remove = async (at: Mandate) => {
        const answer = await scimClient(at).send('DELETE', `/Users/${user}`);
        user = undefined;
        return answer;
      };
      const signal = async (name: string, at: Mandate, claims: Readonly<Record<string, unknown>> = {}) => {
        const body = transmitter.event(RISC + name, sub, claims);
        const { status, text } = await at.send('/events', { method: 'POST', headers: PUSH_HEADERS, body });
        return { status, text };
      };
      const place = {
        admin: () => operator('PUT', mandate),
        scim: () => provision(false, mandate),
        ssf: () => signal('account-purged', mandate),
      };
      const lift = {
        admin: () => operator('DELETE', replica),
        scim: () => provision(true, replica),
        ssf: () => signal('account-enabled', replica),
      };
      return { sub, operator, provision, remove, signal, place, lift, hasUser: () => user !== undefined };
    }

    for (const order of ORDERS) {
      it(`placed in the order ${order.join(', ')} refuse the person until the last of them is lifted`, async () => {
        for (const way of [order, order.toReversed()]) {
          const { sub, place, lift } = aPerson();
          const issued = await exchange(sub);
          let standing: Source[] = [];
          const expectStanding = async () => {
            const [first] = standing;
            const { status, body } = await shown(sub);
            expect(status).to.equal(first === undefined ? 404 : 200);
            if (first === undefined) return;
            const blocks = [body, ...((body.others as Answer['body'][] | undefined) ?? [])];
            expect('others' in body).to.equal(standing.length > 1);
            expect(blocks.map(({ source, kind }) => [source, kind])).to.deep.equal(
              standing.map((source) => [source, KINDS[source]]),
            );
            expect(blocks.every(({ sponsor_key }) => sponsor_key === sub)).to.equal(true);
            await expectRefused(sub, KINDS[first]);
          };
          const [first] = order;
          for (const source of order) {
            later();
            const lines = await mandate.recorded(async () => {
              expect((await place[source]()).status).to.be.oneOf([200, 201, 202]);
            });
            const own = lines.filter(({ task_id }) => task_id === null);
            expect(own.map(inBrief)).to.deep.equal([PLACED[source]]);
            expect(own[0]?.sponsor).to.equal(sub);
            expect(lines.length - own.length, 'the task ends with the first block').to.equal(source === first ? 1 : 0);
            standing.push(source);
            if (way === order) await expectStanding();
          }
          for (const source of way) {
            const lines = await mandate.recorded(async () => {
              expect((await lift[source]()).status).to.be.oneOf([200, 202, 204]);
            });
            expect(lines.map(inBrief)).to.deep.equal([LIFTED[source]]);
            standing = standing.filter((other) => other !== source);
            await expectStanding();
          }
          expect(await isActive(issued)).to.equal(false);
          expect((await exchange(sub, replica)).status).to.equal(200);
        }
      });
    }

    it('are shown as the oldest one, with a list of the others if there are any', async () => {
      const { sub, place, lift } = aPerson();
      await place.scim();
      const alone = await shown(sub);
      expect(Object.keys(alone.body)).to.deep.equal(['sponsor_key', 'source', 'kind', 'blocked_at']);
      later();
      const put = await place.admin();
      expect(put.status).to.equal(200);
      const [operators] = (put.body.sponsor as { others: Answer['body'][] }).others;
      expect(Object.keys(operators ?? {})).to.deep.equal(['sponsor_key', 'source', 'kind', 'blocked_at']);
      expect(operators).to.include({ source: 'admin', kind: 'disabled' });
      expect(put.body).to.deep.equal({ sponsor: { ...alone.body, others: [operators] }, revoked_tasks: 0 });
      expect((await shown(sub, replica)).body).to.deep.equal(put.body.sponsor);
      later();
      const lines = await mandate.recorded(async () => {
        expect((await place.admin()).text).to.equal(put.text);
      });
      expect(lines).to.deep.equal([]);
      await lift.admin();
      expect((await shown(sub)).text).to.equal(alone.text);
    });

    it("get 204 if an operator lifts the operator's block, 409 if only other sources have one, and 404 without a block", async () => {
      const { sub, place, lift } = aPerson();
      const answers: unknown[] = [];
      const remove = async () => {
        const lines = await mandate.recorded(async () => answers.push((await lift.admin()).status));
        answers.push(...lines.map((line) => `${inBrief(line)} ${line.sponsor}`));
      };
      await remove();
      await place.ssf();
      await remove();
      await place.admin();
      await remove();
      await remove();
      await lift.ssf();
      await remove();
      const refused = `sponsor.unblocked deny sponsor_block_not_owned ${sub}`;
      const lifted = `sponsor.unblocked allow operator_unblocked ${sub}`;
      expect(answers).to.deep.equal([404, 409, refused, 204, lifted, 409, refused, 404]);
    });

    it('refuse the person by the block of SCIM after the operator has lifted the operator’s block', async () => {
      const { sub, place, lift } = aPerson();
      await place.admin();
      later();
      await place.scim();
      await lift.admin();
      await expectRefused(sub, 'disabled');
      const lines = await mandate.recorded(async () => expect((await place.scim()).status).to.equal(200));
      expect(lines, 'it restates what holds').to.deep.equal([]);
    });

    it('stay if an account-enabled event arrives that was stated before the block, which is recorded as outdated', async () => {
      const { sub, place, signal } = aPerson();
      await place.ssf();
      later();
      await place.admin();
      const before = (await shown(sub)).body;
      const iat = mandate.clock.seconds() - HOUR;
      const lines = await mandate.recorded(async () => {
        expect(await signal('account-enabled', replica, { iat })).to.deep.equal({ status: 202, text: '' });
      });
      expect(lines.map((line) => `${inBrief(line)} ${line.sponsor}`)).to.deep.equal([
        `sponsor.signal allow ssf_account_enabled_outdated ${sub}`,
      ]);
      expect((await shown(sub)).body).to.deep.equal(before);
      await expectRefused(sub, 'deleted');
    });

    type OperatorAct = 'block' | 'lift';
    type ScimAct = 'off' | 'on' | 'remove';
    type SignalAct = 'account-disabled' | 'account-purged' | 'account-enabled' | 'late';
    const acts = <Act>(...of: readonly Act[]) => fc.array(fc.constantFrom(...of), { minLength: 3, maxLength: 8 });
    const several = fc.tuple(
      acts<OperatorAct>('block', 'lift'),
      acts<ScimAct>('off', 'on', 'remove'),
      acts<SignalAct>('account-disabled', 'account-purged', 'account-enabled', 'late'),
    );

    it('that race end as the last request of each source says, with a record for each request and no live task', async function () {
      this.timeout(120_000);
      await fc.assert(
        fc.asyncProperty(several, async ([operatorActs, scimActs, signalActs]) => {
          const person = aPerson();
          const { sub } = person;
          const left = new Map<Source, 'disabled' | 'deleted'>();
          const expected: string[] = [];
          const issued = [await exchange(sub)];
          const at = (nth: number) => (nth % 2 === 0 ? mandate : replica);

          const operator = async () => {
            for (const [nth, act] of operatorActs.entries()) {
              const { status } = await person.operator(act === 'block' ? 'PUT' : 'DELETE', at(nth));
              const has = left.has('admin');
              if (act === 'block') {
                expect(status).to.equal(200);
                if (!has) expected.push(PLACED.admin);
                left.set('admin', 'disabled');
              } else {
                expect(status).to.be.oneOf(has ? [204] : [404, 409]);
                if (status === 204) expected.push(LIFTED.admin);
                if (status === 409) expected.push('sponsor.unblocked deny sponsor_block_not_owned');
                left.delete('admin');
              }
            }
          };
          const scim = async () => {
            for (const [nth, act] of scimActs.entries()) {
              if (act === 'remove') {
                if (!person.hasUser()) continue;
                expect((await person.remove(at(nth + 1))).status).to.equal(204);
                expected.push('sponsor.signal allow scim_deleted');
                left.set('scim', 'deleted');
                continue;
              }
              const isNew = !person.hasUser();
              expect((await person.provision(act === 'on', at(nth + 1))).status).to.equal(isNew ? 201 : 200);
              if (act === 'on') {
                if (left.delete('scim')) expected.push(LIFTED.scim);
              } else {
                if (isNew || !left.has('scim')) expected.push(PLACED.scim);
                left.set('scim', 'disabled');
              }
            }
          };
          const signals = async () => {
            for (const [nth, act] of signalActs.entries()) {
              const [name, iat] = act === 'late' ? ['account-enabled', mandate.clock.seconds() - HOUR] : [act];
              const answer = await person.signal(name, at(nth), iat === undefined ? {} : { iat });
              expect(answer).to.deep.equal({ status: 202, text: '' });
              const outdated = act === 'late' && left.has('ssf');
              expected.push(`sponsor.signal allow ssf_${name.replace('-', '_')}${outdated ? '_outdated' : ''}`);
              if (name === 'account-enabled') {
                if (!outdated) left.delete('ssf');
              } else if (left.get('ssf') !== 'deleted') {
                left.set('ssf', act === 'account-purged' ? 'deleted' : 'disabled');
              }
            }
          };
          const exchanges = async () => {
            for (let nth = 0; nth < 5; nth++) {
              const answer = await exchange(sub, at(nth));
              if (answer.status === 200) issued.push(answer);
              else expect(answer.body.error).to.equal('access_denied');
            }
          };
          const lines = await mandate.recorded(() => Promise.all([operator(), scim(), signals(), exchanges()]));

          for (const instance of [mandate, replica]) {
            const { status, body } = await shown(sub, instance);
            expect(status).to.equal(left.size === 0 ? 404 : 200);
            if (status === 404) continue;
            const blocks = [body, ...((body.others as Answer['body'][] | undefined) ?? [])];
            expect(blocks.map(({ source, kind }) => [source, kind])).to.have.deep.members([...left]);
            const instants = blocks.map(({ blocked_at }) => Date.parse(String(blocked_at)));
            expect(instants).to.deep.equal(instants.toSorted((one, other) => one - other));
            const refused = await exchange(sub, instance);
            expect(refused.body).to.include({ error: 'access_denied', reason: DENIALS[body.kind as 'disabled'] });
          }
          const ofSources = lines.filter(({ event }) => String(event).startsWith('sponsor.'));
          expect(ofSources.map(inBrief).sort()).to.deep.equal(expected.sort());
          if (left.size === 0) return;
          for (const one of issued) expect(await isActive(one)).to.equal(false);
        }),
        { numRuns: RUNS },
      );
    });
  });
}
