import { expect } from 'chai';
import type { Checkpoints } from '../../../../application/ports/checkpoints.ts';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import { type AdminApi, startAdminApi } from '../../../support/admin-api.ts';
import { NOON } from '../../../support/domain-fixtures.ts';
import { archivingOf, departedMonth } from '../../../support/ledger/archivings.ts';

const entry = { at: NOON, event: 'token.denied', decision: 'deny', reason: 'invalid_request' } as const;

/** Three records sealed by one checkpoint, a fourth by the next, and a fifth by none. */
async function startSealed(checkpoints?: (checkpoints: Checkpoints) => Checkpoints): Promise<AdminApi> {
  const api = await startAdminApi(checkpoints === undefined ? {} : { checkpoints });
  for (let record = 0; record < 3; record += 1) await api.storage.ledger.append(entry);
  await api.seal();
  await api.storage.ledger.append(entry);
  await api.seal();
  await api.storage.ledger.append(entry);
  return api;
}

describe('GET /audit/records/{seq}/proof', () => {
  let api: AdminApi;
  before(async () => {
    api = await startSealed();
  });
  after(() => api.stop());
  const proof = (seq: number | string) => api.send('get', `/audit/records/${seq}/proof`);

  it('answers the proof and the checkpoint that seals the record', async () => {
    const { checkpoints } = (await api.send('get', '/audit/checkpoints')).body;
    const answers = [await proof(1), await proof(2), await proof(3), await proof(4)];
    for (const [at, { status, body, headers }] of answers.entries()) {
      expect([status, headers['cache-control']]).to.deep.equal([200, 'no-store']);
      expect(Object.keys(body)).to.deep.equal(['seq', 'checkpoint', 'leaf_index', 'audit_path']);
      expect([body.seq, body.leaf_index]).to.deep.equal([at + 1, at % 3]);
      expect(body.checkpoint).to.deep.equal(checkpoints[at < 3 ? 0 : 1]);
    }
    expect(answers.map(({ body }) => body.audit_path.length)).to.deep.equal([2, 2, 1, 0]);
  });

  for (const seq of ['5', '6', '0', '9007199254740991']) {
    it(`answers 404 for the record ${seq}, which is not sealed or does not exist`, async () => {
      const answer = await proof(seq);
      expect([answer.status, answer.type]).to.deep.equal([404, 'application/problem+json']);
    });
  }
});

describe('GET /audit/records/{seq}/proof of a record that is gone', () => {
  const AUGUST = departedMonth('2026-08', [1, 2], [1, 4]);

  async function startWithout(change: (api: AdminApi) => Promise<void>): Promise<AdminApi> {
    const api = await startSealed((checkpoints) => ({
      ...checkpoints,
      records: async (...asked) => (await checkpoints.records(...asked)).filter(({ seq }) => seq > 4),
    }));
    await change(api);
    await api.seal();
    return api;
  }

  it('is answered with 410 and the checkpoint whose export holds it, if a sealed record says that it was archived', async () => {
    const api = await startWithout((made) => made.storage.ledger.append(archivingOf('2026-09-20T12:00:00Z', AUGUST)));
    const answer = await api.send('get', '/audit/records/4/proof');
    expect([answer.status, answer.type]).to.deep.equal([410, 'application/problem+json']);
    expect(answer.body).to.deep.include({ title: 'Gone', status: 410, checkpoint: 2 });
    expect(answer.body.detail).to.match(/checkpoint 2\b/);
    expect((await api.send('get', '/audit/records/7/proof')).status).to.equal(404);
    expect((await api.send('get', '/audit')).body.archived_before).to.equal('2026-09-01T00:00:00Z');
    await api.stop();
  });

  it('is answered with 500 if no sealed record says so', async () => {
    const api = await startWithout((made) => made.storage.ledger.append(entry));
    await api.storage.ledger.append(archivingOf('2026-09-20T12:00:00Z', AUGUST));
    const answer = await api.send('get', '/audit/records/4/proof');
    expect([answer.status, answer.body.title]).to.deep.equal([500, 'Internal Server Error']);
    expect((await api.send('get', '/audit')).body.archived_before).to.equal(null);
    await api.stop();
  });
});

describe('GET /audit/records/{seq}/proof after a record was altered in the database', () => {
  it('is answered with 500 and without a proof path, and is logged, for each record of the checkpoint', async () => {
    const api = await startSealed((checkpoints) => ({
      ...checkpoints,
      async records(...asked) {
        const records = await checkpoints.records(...asked);
        return records.map((record) => (record.seq === 2 ? { ...record, scope: 'put in later' } : record));
      },
    }));
    for (const seq of [1, 2, 3]) {
      const answer = await api.send('get', `/audit/records/${seq}/proof`);
      expect([answer.status, answer.type]).to.deep.equal([500, 'application/problem+json']);
      expect(answer.body).to.deep.include({ status: 500, checkpoint: 1 });
      expect(answer.text).not.to.match(/audit_path|put in later/);
    }
    expect((await api.send('get', '/audit/records/4/proof')).status).to.equal(200);
    const errors = api.log.lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'error');
    expect(errors).to.have.lengthOf(3);
    expect(errors[0]).to.include({ checkpoint: 1 });
    await api.stop();
  });
});

describe('GET /audit/records/{seq}/proof while the database is unavailable', () => {
  it('is answered with 503 and Retry-After', async () => {
    const sealing = () => Promise.reject(new StorageUnavailable('away'));
    const api = await startAdminApi({ checkpoints: (checkpoints) => ({ ...checkpoints, sealing }) });
    const answer = await api.send('get', '/audit/records/1/proof');
    expect([answer.status, answer.headers['retry-after']]).to.deep.equal([503, '5']);
    await api.stop();
  });
});
