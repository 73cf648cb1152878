/** Operators of whom two lift a block. */

import { expect } from 'chai';
import { repetitions } from '../../contract/repetitions.ts';
import type { LedgerLine } from '../../support/mandate.ts';
import type { ServiceWithOperators } from './service.ts';
import { detailOf, isAct, operator } from './service.ts';

const RUNS = repetitions(5);

/** `false` for the summary of earlier tests' refusals, which may be written in the meantime. */
const isNamed = ({ event }: LedgerLine) => event !== 'admin.denied';

export function testTwoPersons(service: ServiceWithOperators): void {
  describe('with two people to lift a block', () => {
    const BLOCK = '/admin/sponsors/mallory/block';
    const lift = (sub: string) => operator(service.mandate, sub, 'responder')(`DELETE ${BLOCK}`);
    beforeEach(async () => {
      const { mandate } = service;
      await mandate.admin('DELETE', BLOCK);
      await operator(mandate, 'olga', 'responder')(`PUT ${BLOCK}`);
    });

    it('wait for a second, different person, and record both acts', async () => {
      const { mandate } = service;
      const records = await mandate.recorded(async () => {
        for (const _ of [1, 2]) {
          const first = await lift('olga');
          expect([first.status, first.body]).to.deep.equal([202, { pending: true }]);
        }
        expect((await lift('oscar')).status).to.equal(204);
      });
      expect(
        records.filter(isNamed).map((line) => [line.event, isAct(line) ? detailOf(line).sub : line.reason]),
      ).to.deep.equal([
        ['operator.acted', 'olga'],
        ['operator.acted', 'olga'],
        ['sponsor.unblocked', 'operator_unblocked'],
        ['operator.acted', 'oscar'],
      ]);
      expect((await mandate.admin('GET', '/admin/sponsors/mallory')).status).to.equal(404);
    });

    it('wait for an hour, which asking again does not renew', async () => {
      const { mandate } = service;
      expect((await lift('olga')).status).to.equal(202);
      mandate.clock.advance(1800);
      expect((await lift('olga')).status).to.equal(202);
      mandate.clock.advance(1800);
      expect((await lift('oscar')).status).to.equal(202);
      expect((await lift('olga')).status).to.equal(204);
    });

    it('begin anew after another block', async () => {
      const { mandate } = service;
      expect((await lift('olga')).status).to.equal(202);
      await operator(mandate, 'oscar', 'responder')(`PUT ${BLOCK}`);
      expect((await lift('oscar')).status).to.equal(202);
    });

    it('are not needed with the admin key', async () => {
      const { mandate } = service;
      expect((await lift('olga')).status).to.equal(202);
      expect((await mandate.admin('DELETE', BLOCK)).status).to.equal(204);
    });

    it('lift the block once if both ask at the same time, on two replicas', async () => {
      const { mandate } = service;
      const replica = await mandate.another({});
      await replica.untilReady();
      replica.clock.advance(mandate.clock.seconds() - replica.clock.seconds());
      for (let run = 0; run < RUNS; run += 1) {
        await mandate.admin('PUT', BLOCK);
        const records = await mandate.recorded(async () => {
          const answers = await Promise.all([lift('olga'), operator(replica, 'oscar', 'responder')(`DELETE ${BLOCK}`)]);
          expect(answers.map(({ status }) => status).sort()).to.deep.equal([202, 204]);
        });
        expect(records.filter(({ event }) => event === 'sponsor.unblocked')).to.have.length(1);
        expect(records.filter(isAct)).to.have.length(2);
      }
      await replica.stop();
    });

    it('refuse the person who is blocked, who may block themselves', async () => {
      const { mandate } = service;
      const own = operator(mandate, 'oskar', 'responder');
      expect((await own('PUT /admin/sponsors/oskar/block')).status).to.equal(200);
      const records = await mandate.recorded(async () => {
        const answer = await own('DELETE /admin/sponsors/oskar/block');
        expect([answer.status, answer.body.title]).to.deep.equal([403, 'Forbidden']);
      });
      expect(records.filter(isNamed).map(({ event, decision, reason }) => [event, decision, reason])).to.deep.equal([
        ['sponsor.unblocked', 'deny', 'operator_is_sponsor'],
        ['operator.acted', 'allow', null],
      ]);
      expect((await mandate.admin('GET', '/admin/sponsors/oskar')).status).to.equal(200);
      await mandate.admin('DELETE', '/admin/sponsors/oskar/block');
    });
  });
}
