import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import express from 'express';
import { type ScimSurface, scimRouter } from '../../../../adapters/http/scim/scim-router.ts';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import type { WriteRefusal } from '../../../../application/signals/provision-user.ts';
import { Secret } from '../../../../domain/secret.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import { SCIM_TOKEN, scimClient } from '../../../support/scim-client.ts';

const USER = '/Users/user_01M31S7W68TMK7WDX8YKPSYTES';

describe('The SCIM surface', () => {
  let server: Server;
  let outcome: () => Promise<WriteRefusal> = () => Promise.reject(new Error('not set'));
  const log = capturedLog();
  const client = () => scimClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });

  before(async () => {
    const removed: ScimSurface['remove'] = async () => {
      const { kind } = await outcome();
      return kind === 'kept_changing' ? kind : 'not_found';
    };
    const surface: ScimSurface = {
      credentials: [new Secret(SCIM_TOKEN)],
      refuse: async () => undefined,
      issuer: 'https://mandate.test',
      person: 'externalId',
      create: () => outcome(),
      find: async () => {
        await outcome();
        return undefined;
      },
      list: async () => {
        await outcome();
        return { users: [], total: 0 };
      },
      replace: () => outcome(),
      patch: () => outcome(),
      remove: removed,
    };
    const app = express();
    app.use('/scim', scimRouter(surface, log));
    server = createServer(app);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  const writes = [
    ['POST', '/Users'],
    ['PUT', USER],
    ['PATCH', USER],
    ['DELETE', USER],
  ] as const;

  it('answers 412 when the write conflicted with other writes on every retry', async () => {
    outcome = async () => ({ kind: 'kept_changing' });
    for (const [method, path] of writes) {
      const answer = await client().send(method, path, method === 'DELETE' ? undefined : {});
      expect(answer.status).to.equal(412);
      expect(answer.body).to.include({ status: '412' }).and.not.to.have.property('scimType');
    }
  });

  it('answers 503 with Retry-After in its own format while the database is unavailable', async () => {
    outcome = () => Promise.reject(new StorageUnavailable('hunter2'));
    for (const [method, path] of [...writes, ['GET', USER], ['GET', '/Users']] as const) {
      const answer = await client().send(method, path, ['DELETE', 'GET'].includes(method) ? undefined : {});
      expect(answer.status, `${method} ${path}`).to.equal(503);
      expect(answer.headers.get('retry-after')).to.equal('5');
      expect(answer.headers.get('content-type')).to.equal('application/scim+json');
      expect(answer.text).not.to.contain('hunter2');
      expect(answer.body).to.include({ status: '503' });
    }
  });

  it('answers 500 without details in its own format after a bug', async () => {
    outcome = () => Promise.reject(new Error('hunter2'));
    const answer = await client().send('POST', '/Users', {});
    expect(answer.status).to.equal(500);
    expect(answer.text).not.to.contain('hunter2');
    expect(answer.body).to.include({ status: '500' });
  });
});
