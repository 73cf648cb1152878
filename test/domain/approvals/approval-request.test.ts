import { expect } from 'chai';
import { forgottenAt, isInTime, readApprovalRequest } from '../../../domain/approvals/approval-request.ts';
import { plusSeconds, toSeconds } from '../../../domain/instant.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const ISSUER = 'https://mandate.example';
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
/** The longest texts that are accepted. */
const CLAIMS = {
  iss: 'https://files.example/mcp',
  aud: [ISSUER],
  iat: toSeconds(NOON),
  exp: toSeconds(NOON) + 60,
  jti: 'j'.repeat(256),
  task_id: 'task_01M31S7W68TMK7WDX8YKPSYTES',
  digest: 'n4bQgYhMfWWaL-qgxVrQFaO_TxsrC0Is0V1sFbDwCgg',
  title: 't'.repeat(120),
  lines: Array(10).fill({ label: 'l'.repeat(40), value: 'v'.repeat(200) }),
};
const read = (changes: object = {}) =>
  readApprovalRequest(
    `${encoded({ alg: 'ES256', typ: 'approval-request+jwt', kid: '1' })}.${encoded({ ...CLAIMS, ...changes })}.c2ln`,
    ISSUER,
  );

describe('The request of a tool server for an approval', () => {
  it('may have the longest texts, a bidirectional character, and no line', () => {
    expect(read()).to.include({ issuer: CLAIMS.iss, title: CLAIMS.title, digest: CLAIMS.digest });
    expect(read()?.lines).to.deep.equal(CLAIMS.lines);
    expect(read({ title: 'a \u202E b', lines: [] })).to.deep.include({ title: 'a \u202E b', lines: [] });
  });

  it('may name no text that is longer, blank, of several lines or of another type', () => {
    for (const text of [
      '',
      ' ',
      '\u00A0',
      'a\u0000',
      'a\nb',
      'a\rb',
      'a\u0085b',
      'a\u2028b',
      'a\u2029b',
      7,
      null,
      ['a'],
    ]) {
      expect(read({ title: text }), `title ${text}`).to.equal(undefined);
      expect(read({ lines: [{ label: text, value: 'v' }] }), `label ${text}`).to.equal(undefined);
      expect(read({ lines: [{ label: 'l', value: text }] }), `value ${text}`).to.equal(undefined);
    }
    for (const lines of [undefined, null, {}, 'a', ['a'], [null], [{}], [{ label: 'l' }], Array(10_000).fill(1)]) {
      expect(read({ lines }), JSON.stringify(lines)?.slice(0, 40)).to.equal(undefined);
    }
  });

  it('is in time for sixty seconds and the skew of a clock, by the later of two clocks', () => {
    const request = { startsAt: NOON, expiresAt: plusSeconds(NOON, 60) };
    const at = (now: number, latest = now) => ({ now: plusSeconds(NOON, now), latest: plusSeconds(NOON, latest) });
    for (const seconds of [-60, 0, 60, 119]) expect(isInTime(request, at(seconds)), `${seconds}`).to.equal(true);
    for (const seconds of [-61, 120, 180]) expect(isInTime(request, at(seconds)), `${seconds}`).to.equal(false);
    expect(isInTime(request, at(119, 120)), 'the later clock decides when it is past').to.equal(false);
    expect(isInTime({ ...request, expiresAt: plusSeconds(NOON, 121) }, at(0)), 'too long a life').to.equal(false);
    const startOf = (nbf?: number) => toSeconds(read({ nbf })?.startsAt ?? expect.fail());
    expect([startOf(CLAIMS.iat + 5), startOf(CLAIMS.iat - 5), startOf()], 'its nbf counts too').to.deep.equal([
      CLAIMS.iat + 5,
      CLAIMS.iat,
      CLAIMS.iat,
    ]);
    expect(forgottenAt(request)).to.equal(plusSeconds(NOON, 120));
  });
});
