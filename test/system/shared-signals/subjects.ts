/** The forms of subjects and events that a receiver accepts. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { STREAM_AUDIENCE } from '../../support/transmitter.ts';
import type { Stream } from './stream.ts';
import { CAEP, type Claims, RISC, SESSION_REVOKED } from './stream.ts';

const SSF = 'https://schemas.openid.net/secevent/ssf/event-type/';

export function testSubjects(stream: Stream): void {
  const { push, about, event, newTask, introspect, expectAccepted, byMail, byPhone, elsewhere } = stream;

  it('finds the person by iss_sub, as the user of a complex subject, in sub_id and in the event', async () => {
    const { transmitter, mandate } = stream;
    for (const place of [
      (subject: object) => ({ sub_id: subject, events: { [SESSION_REVOKED]: {} } }),
      (subject: object) => ({ events: { [SESSION_REVOKED]: { subject } } }),
      (subject: object) => ({ sub_id: { user: subject }, events: { [SESSION_REVOKED]: { subject } } }),
    ]) {
      const task = await newTask();
      const subject = { format: 'iss_sub', iss: mandate.provider.issuer, sub: task.oid };
      expectAccepted(await push(transmitter.sign(place(subject))));
      expect(await introspect(task)).to.include({ active: false });
    }
  });

  const device = about('somebody-else');

  const others = { tenant: device, device, session: device };

  const complex = (user: Claims) => ({ format: 'complex', user, session: device });

  const forms: readonly (readonly [title: string, subject: (person: Claims) => Claims])[] = [
    ['a complex subject', (user) => ({ format: 'complex', user })],
    ['a complex subject with other members', (user) => ({ ...others, format: 'complex', user })],
    ['a subject without a format and with other members', (user) => ({ ...others, user })],
    ['the only supported alias', (user) => ({ format: 'aliases', identifiers: [byMail, user, byPhone] })],
    [
      'the user of a complex subject by an alias',
      (user) => complex({ format: 'aliases', identifiers: [elsewhere, user] }),
    ],
  ];

  for (const [title, subject] of forms) {
    it(`reads ${title}, by iss_sub and by opaque, in sub_id and in the event`, async () => {
      const { transmitter, mandate } = stream;
      for (const format of ['iss_sub', 'opaque']) {
        for (const place of ['above', 'in the event']) {
          const task = await newTask();
          const person =
            format === 'opaque' ? about(task.oid) : { format, iss: mandate.provider.issuer, sub: task.oid };
          const named = subject(person);
          const claims =
            place === 'above'
              ? { sub_id: named, events: { [`${RISC}account-disabled`]: {} } }
              : { events: { [`${RISC}account-disabled`]: { subject: named } } };
          const lines = await mandate.recorded(async () => expectAccepted(await push(transmitter.sign(claims))));
          expect(lines.map((line) => [line.event, line.reason, line.task_id ?? line.sponsor])).to.deep.equal([
            ['sponsor.signal', 'ssf_account_disabled', task.oid],
            ['task.revoked', 'ssf_account_disabled', task.body.task_id],
          ]);
          expect(await introspect(task), `${format} ${place}`).to.include({ active: false });
          expect((await newTask(task.oid)).body).to.include({ reason: 'sponsor_disabled' });
        }
      }
    });
  }

  it('accepts typ secevent+jwt and application/secevent+jwt, in any case', async () => {
    const { transmitter } = stream;
    for (const typ of ['secevent+jwt', 'application/secevent+jwt', 'Application/SecEvent+JWT']) {
      const task = await newTask();
      const claims = { sub_id: about(task.oid), events: { [SESSION_REVOKED]: {} } };
      expectAccepted(await push(transmitter.sign(claims, { typ })));
      expect(await introspect(task), typ).to.include({ active: false });
    }
  });

  it('accepts an iat up to 60 seconds in the future', async () => {
    const { mandate } = stream;
    const task = await newTask();
    expectAccepted(await push(event(SESSION_REVOKED, task.oid, { iat: mandate.clock.seconds() + 60 })));
    expect(await introspect(task)).to.include({ active: false });
  });

  it('accepts sponsor keys of at most 256 UTF-16 code units', async () => {
    const task = await newTask(`${randomUUID()}${'😀'.repeat(110)}`);
    expect(task.oid).to.have.length(256);
    expectAccepted(await push(event(SESSION_REVOKED, task.oid)));
    expect(await introspect(task)).to.include({ active: false });
  });

  it("accepts Okta's session-revoked, with its complex subject in the event and a timestamp in milliseconds", async () => {
    const { transmitter, mandate } = stream;
    const task = await newTask();
    const events = {
      [SESSION_REVOKED]: {
        event_timestamp: Date.now(),
        initiating_entity: 'admin',
        reason_admin: { en: 'Suspicious activity' },
        current_ip: '192.0.2.7',
        subject: { user: { format: 'iss_sub', iss: mandate.provider.issuer, sub: task.oid } },
      },
    };
    expectAccepted(await push(transmitter.sign({ aud: [STREAM_AUDIENCE], events })));
    expect(await introspect(task)).to.include({ active: false });
  });

  it('accepts events that have no effect here, and records nothing', async () => {
    const { transmitter, mandate } = stream;
    const task = await newTask();
    const lines = await mandate.recorded(async () => {
      for (const events of [
        { [`${SSF}verification`]: { state: 'VGhpcyBpcyBhbiBleGFtcGxl' } },
        { [`${SSF}stream-updated`]: { status: 'paused' } },
        { [`${CAEP}credential-change`]: { subject: { user: about(task.oid) }, credential_type: 'password' } },
        { 'https://schemas.example/unheard-of': null },
      ]) {
        expectAccepted(await push(transmitter.sign({ sub_id: about(task.oid), events })));
        expectAccepted(await push(transmitter.sign({ events })));
      }
    });
    expect(lines).to.deep.equal([]);
    expect(await introspect(task)).to.include({ active: true });
  });

  it('acts on every event in a token', async () => {
    const { transmitter, mandate } = stream;
    const task = await newTask();
    const events = { [`${RISC}account-purged`]: {}, [SESSION_REVOKED]: {}, [`${CAEP}credential-change`]: {} };
    const lines = await mandate.recorded(() => push(transmitter.sign({ sub_id: about(task.oid), events })));
    expect(lines.map((line) => line.reason)).to.deep.equal([
      'ssf_sessions_revoked',
      'ssf_account_purged',
      'ssf_account_purged',
    ]);
  });
}
