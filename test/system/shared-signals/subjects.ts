/** The forms of subjects and events that a receiver accepts. */

import { expect } from 'chai';
import type { Stream } from './stream.ts';
import { CAEP, SESSION_REVOKED } from './stream.ts';

const SSF = 'https://schemas.openid.net/secevent/ssf/event-type/';

export function testSubjects(stream: Stream): void {
  const { push, about, newTask, introspect, expectAccepted } = stream;

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
}
