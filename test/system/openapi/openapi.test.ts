/** Sends every example request of the OpenAPI document, and compares every response in it with a real one. */

import { expect } from 'chai';
import { databasesByLength } from '../../support/databases.ts';
import { thirdByLength } from '../../support/length.ts';
import { anyPathResponses, examplesOf, operationOf, operations, served } from '../../support/openapi/api-document.ts';
import { confirm, wasSeen } from '../../support/openapi/confirm.ts';
import { type Changes, sendExample, wasSent } from '../../support/openapi/send-example.ts';
import { describeRefusals } from './refusals.ts';
import { scenarios } from './scenarios.ts';
import { describeTroubles } from './troubles.ts';
import { startWorld, type World } from './world.ts';

for (const database of databasesByLength) {
  describe(`The API on ${database.name}`, function () {
    this.timeout(60_000);
    let world: World;
    before(async () => {
      world = await startWorld(database);
    });
    after(() => world.stop());

    for (const [key, arrange] of Object.entries(scenarios)) {
      const [id = '', status, example] = key.split(' ');
      it(`answers ${key}`, async () => {
        const operation = operationOf(id);
        const { changes, url = world.mandate.url, followUp } = await arrange(world);
        const answer = await sendExample(url, operation, changes, example);
        expect(answer.status, answer.text).to.equal(Number(status));
        confirm(operation, answer, example);
        await followUp?.(answer);
      });
    }

    // The other tests do not depend on the database.
    if (database.engine !== 'sqlite') return;

    for (const [nth, operation] of served.entries()) {
      it(`answers every malformed ${operation.id} with a status in the document`, async () => {
        const bodies = ['', '{', 'null', 'a=1&a=2', '%', `{"a":"${'x'.repeat(70_000)}"}`, '{"a":1,"a":2}', '\u0000'];
        const types = ['text/plain', 'application/json; charset=latin1', 'application/x-www-form-urlencoded'];
        const tries: Changes[] = [
          ...(operation.body === undefined ? [] : thirdByLength(bodies, nth).map((text) => ({ text }))),
          ...(operation.body === undefined
            ? []
            : thirdByLength(types, nth).map((type) => ({ headers: { 'content-type': type } }))),
          ...(operation.body === undefined ? [] : [{ headers: { 'content-encoding': 'gzip' } }]),
          { query: { limit: '-1', count: 'many', unknown: 'x' } },
          { path: { agent_id: 'UPPER', sponsor_key: '%20', task_id: 'x', seq: 'x', id: 'x' } },
          { headers: { accept: 'image/png' } },
        ];
        const { url } = operation.id === 'registerClient' ? world.deaf : world.mandate;
        for (const changes of tries) confirm(operation, await sendExample(url, operation, changes));
      });
    }
    it('answers HEAD like GET, without the body', async () => {
      for (const operation of served.filter(({ method }) => method === 'get')) {
        const answer = await sendExample(world.mandate.url, operation);
        const head = await sendExample(world.mandate.url, { ...operation, method: 'head' });
        expect(head.text).to.equal('');
        for (const name of ['content-type', 'cache-control', 'content-length']) {
          expect(head.headers.get(name), `${operation.id} ${name}`).to.equal(answer.headers.get(name));
        }
        expect(head.status, operation.id).to.equal(answer.status);
      }
    });
  });

  describeRefusals(database);
}

describeTroubles();

describe('The tests of the API above', () => {
  it('have sent each example request', () => {
    const bodies = operations.flatMap(({ body }) => (body === undefined ? [] : examplesOf(body)));
    expect(bodies.map(({ pointer }) => pointer).filter((pointer) => !wasSent(pointer))).to.deep.equal([]);
  });

  it('have seen each status and each example answer in the document', () => {
    const statuses = operations.flatMap(({ id, responses }) =>
      [...responses.keys()].map((status) => `${id} ${status}`),
    );
    expect(statuses.filter((key) => !wasSeen(key))).to.deep.equal([]);
    const described = [...operations.flatMap(({ responses }) => [...responses.values()]), ...anyPathResponses.values()];
    const examples = new Set(described.flatMap(examplesOf).map(({ pointer }) => pointer));
    expect([...examples].filter((pointer) => !wasSeen(pointer))).to.deep.equal([]);
  });
});
