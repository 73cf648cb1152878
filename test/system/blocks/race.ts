/** Blocks of several sources that are placed and lifted at once. */

import { expect } from 'chai';
import fc from 'fast-check';
import { repetitions } from '../../contract/repetitions.ts';
import type { Answer } from '../../support/mandate.ts';
import type { Sources } from './sources.ts';
import { DENIALS, HOUR, inBrief, LIFTED, PLACED, type Source } from './sources.ts';

const RUNS = repetitions(5);

export function testRace(sources: Sources): void {
  const { exchange, isActive, shown, aPerson } = sources;

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
    const { mandate, replica } = sources;
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
}
