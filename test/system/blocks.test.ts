/**
 * An operator, SCIM and Shared Signals block one person, on two replicas of one database. No source replaces or lifts
 * the block of another source. The person is refused until no block is left.
 */

import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import type { Answer } from '../support/mandate.ts';
import { DENIALS, inBrief, LIFTED, PLACED, type Source, sourcesOn } from './blocks/sources.ts';

/** Two orders, in which another source places its block first. test/application/decisions/block-sources.test.ts has the rule. */
const ORDERS: readonly (readonly [Source, Source, Source])[] = [
  ['admin', 'scim', 'ssf'],
  ['ssf', 'admin', 'scim'],
];

const KINDS = { admin: 'disabled', scim: 'disabled', ssf: 'deleted' } as const;

for (const database of databasesByLength) {
  describe(`Blocks of several sources on ${database.name}`, function () {
    this.timeout(60_000);
    const sources = sourcesOn(database);
    const { exchange, isActive, shown, aPerson } = sources;

    /** Moves the clocks of both replicas, so that each block has another time. */
    const later = () => {
      const { mandate, replica } = sources;
      for (const instance of [mandate, replica]) instance.clock.advance(1);
    };

    const expectRefused = async (sub: string, kind: 'disabled' | 'deleted') => {
      const { mandate, replica } = sources;
      for (const at of [mandate, replica]) {
        const { status, body } = await exchange(sub, at);
        expect([status, body.error, body.reason]).to.deep.equal([400, 'access_denied', DENIALS[kind]]);
      }
    };

    for (const order of ORDERS) {
      it(`placed in the order ${order.join(', ')} refuse the person until the last of them is lifted`, async () => {
        const { mandate, replica } = sources;
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
      const { mandate, replica } = sources;
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
      const { mandate } = sources;
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
      const { mandate } = sources;
      const { sub, place, lift } = aPerson();
      await place.admin();
      later();
      await place.scim();
      await lift.admin();
      await expectRefused(sub, 'disabled');
      const lines = await mandate.recorded(async () => expect((await place.scim()).status).to.equal(200));
      expect(lines, 'it restates what holds').to.deep.equal([]);
    });
  });
}
