/** What the doctor sees of sign-ins: the newest stored session, and the newest demand for a proof of a key. */

import { expect } from 'chai';
import { openPostgresCondition } from '../../adapters/storage/postgres/condition.ts';
import { openSqliteCondition } from '../../adapters/storage/sqlite/open-ledger.ts';
import { append } from '../../application/decisions/append.ts';
import { openSession } from '../../application/decisions/sessions.ts';
import type { SignInPlace } from '../../application/ports/storage.ts';
import { plusSeconds } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import type { SessionKind } from '../../domain/sessions/session.ts';
import { capturedLog } from '../support/captured-log.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { aSession } from './world.ts';

onEveryDatabase('the sign-ins that the doctor sees', ({ storage, database, outside, kind: { engine } }) => {
  const issuer = 'https://idp.example';
  const seen = async (kind: SignInPlace, changes: object = {}) => {
    const { settings } = database();
    const condition =
      engine === 'postgres'
        ? await openPostgresCondition(String(settings['Service:Database:ConnectionString']), capturedLog())
        : await openSqliteCondition(String(settings['Service:Database:Path']));
    try {
      return await condition.signIns({ kind, issuer, since: NOON, ...changes });
    } finally {
      await condition.close();
    }
  };
  const signIn = async (kind: SessionKind, after: number, at = issuer) => {
    const createdAt = plusSeconds(NOON, after);
    const session = aSession({ kind, roles: [], issuer: at, createdAt, expiresAt: plusSeconds(createdAt, 900) });
    await storage().decide(openSession, { session, issuedAt: createdAt, replaces: undefined });
  };
  const deny = (event: LedgerEntry['event'], reason: string, after: number) =>
    storage().decide(append, { at: plusSeconds(NOON, after), event, decision: 'deny', reason } as LedgerEntry);

  it('are the newest of the page and the provider in question, and no record before the time', async () => {
    const nothing = { lastAt: undefined, dpopDemandedAt: undefined, tokenRefused: undefined };
    expect(await seen('me')).to.deep.equal(nothing);
    for (const after of [10, 30, 20]) await signIn('me', after);
    await signIn('me', 90, 'https://another.example');
    // The times of records never run back.
    for (const after of [5, 15, 25]) await deny('me.denied', 'sign_in_dpop_demanded', after);
    await deny('admin.denied', 'sign_in_dpop_demanded', 60);
    await deny('me.denied', 'missing_token', 70);
    await signIn('operator', 80);
    await signIn('operator', 85, 'https://idp.example.evil');
    expect(await seen('me')).to.deep.equal({
      ...nothing,
      lastAt: plusSeconds(NOON, 30),
      dpopDemandedAt: plusSeconds(NOON, 25),
    });
    expect(await seen('operator')).to.deep.equal({
      ...nothing,
      lastAt: plusSeconds(NOON, 80),
      dpopDemandedAt: plusSeconds(NOON, 60),
    });
    expect(await seen('me', { issuer: 'https://third.example', since: plusSeconds(NOON, 26) })).to.deep.equal(nothing);
    expect(await seen('me', { since: plusSeconds(NOON, 25) })).to.have.property('dpopDemandedAt');
    const connection = await outside();
    await connection.sql('delete from sessions');
    expect(await seen('me'), 'expired sessions are deleted').to.have.property('lastAt', undefined);
    expect(await seen('operator'), 'the ledger has it').to.have.property('lastAt', plusSeconds(NOON, 80));
    expect(await seen('operator', { since: plusSeconds(NOON, 81) })).to.have.property('lastAt', undefined);
  });

  it('of people who start a task are known by their answers, and by the refusals of access tokens', async () => {
    const nothing = { lastAt: undefined, dpopDemandedAt: undefined, tokenRefused: undefined };
    // Later than the records of the test above: the times of records never run back.
    await signIn('me', 105);
    await deny('me.denied', 'subject_expired', 106);
    expect(await seen('authorization')).to.deep.equal(nothing);
    const allow = (after: number) =>
      storage().decide(append, {
        at: plusSeconds(NOON, after),
        event: 'authorization.allowed',
        decision: 'allow',
        detail: 'request=areq_01K&client=key',
      } as LedgerEntry);
    await deny('authorization.denied', 'subject_malformed', 110);
    await deny('authorization.denied', 'sign_in_dpop_demanded', 111);
    await allow(120);
    await deny('authorization.denied', 'subject_audience_mismatch', 130);
    await deny('authorization.denied', 'consent_refused', 140);
    const known = {
      lastAt: plusSeconds(NOON, 120),
      dpopDemandedAt: plusSeconds(NOON, 111),
      tokenRefused: { at: plusSeconds(NOON, 130), reason: 'subject_audience_mismatch' },
    };
    expect(await seen('authorization')).to.deep.equal(known);
    expect(await seen('authorization', { since: plusSeconds(NOON, 131) })).to.deep.equal(nothing);
    expect(await seen('me')).to.have.property('tokenRefused', undefined);
  });
});
