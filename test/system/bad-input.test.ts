/** Malformed requests get a recorded refusal in the format of the surface, no 5xx, and no echo of their content. */

import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { sendBytes } from '../support/hostile/send-bytes.ts';
import { type Answer, encodeForm, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';

const FORM = 'application/x-www-form-urlencoded';
/** Each refusal has its own record. ledger-seal.test.ts tests aggregation. */
const EACH_RECORDED = { 'Service:Audit:Aggregation:Enabled': 'false' };

const ENDPOINTS = ['/oauth2/token', '/oauth2/introspect', '/oauth2/revoke'];

/** Sends these bytes. Returns the response, after at most 3 s. */
async function raw(mandate: Mandate, head: string, body = ''): Promise<string> {
  return (await sendBytes(mandate.url, `${head}\r\n\r\n${body}`, { timeoutMs: 3000 })).text;
}

for (const database of databasesByLength) {
  describe(`Malformed requests on ${database.name}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    before(async () => {
      mandate = await startMandate({ database, settings: EACH_RECORDED });
      agent = await mandate.agent();
    });
    after(() => mandate.stop());

    for (const path of ENDPOINTS) {
      const expectInvalid = async (send: () => Promise<Answer>, detail: RegExp, status = 400) => {
        const lines = await mandate.recorded(async () => {
          const { body, headers, ...answer } = await send();
          expect(answer.status).to.equal(status);
          expect(headers.get('cache-control')).to.equal('no-store');
          expect(body).to.have.all.keys('error', 'error_description');
          expect(body.error).to.equal('invalid_request');
          expect(body.error_description).to.match(detail);
        });
        expect(lines).to.have.lengthOf(1);
        expect(lines[0]).to.include({ event: 'token.denied', reason: 'invalid_request', decision: 'deny' });
        expect(lines[0]).to.include({ agent_id: null, sponsor: null });
      };
      const send = (init: RequestInit) => () => mandate.send(path, { method: 'POST', ...init });

      it(`to ${path} are refused with another media type or charset`, async () => {
        const form = encodeForm(agent.exchangeForm());
        const types = [
          'application/json',
          'text/plain',
          `${FORM}; charset=utf-8; charset=iso-8859-1`,
          'multipart/form-data; boundary=x',
        ];
        for (const type of types) {
          await expectInvalid(send({ headers: { 'content-type': type }, body: form }), /x-www-form-urlencoded/);
        }
        await expectInvalid(send({ body: new Uint8Array(Buffer.from(form)) }), /x-www-form-urlencoded/);
        const headers = { 'content-type': `${FORM}; charset=iso-8859-1` };
        await expectInvalid(send({ headers, body: Buffer.from('token=\xe9', 'latin1') }), /x-www-form-urlencoded/);
      });

      it(`to ${path} do not include the form media type with a charset parameter, which is accepted`, async () => {
        for (const charset of ['"UTF-8"', 'ISO-8859-1', 'us-ascii']) {
          const headers = { 'content-type': `${FORM}; Charset=${charset}` };
          const { text } = await send({ headers, body: 'token=x' })();
          expect(text, charset).not.to.match(/urlencoded/);
        }
      });

      it(`to ${path} are refused with a compressed body`, async () => {
        const headers = { 'content-type': FORM, 'content-encoding': 'gzip' };
        await expectInvalid(send({ headers, body: 'token=x' }), /compressed/);
      });

      it(`to ${path} are refused with a body of more than 64 KiB, with and without Content-Length`, async () => {
        const large = `token=${'x'.repeat(64 * 1024)}`;
        await expectInvalid(send({ headers: { 'content-type': FORM }, body: large }), /64 KiB/);
        const stream = new ReadableStream({
          start(controller) {
            controller.enqueue(Buffer.from(large));
            controller.enqueue(Buffer.from(large));
            controller.close();
          },
        });
        const init = { headers: { 'content-type': FORM }, body: stream, duplex: 'half' } as RequestInit;
        await expectInvalid(send(init), /64 KiB/);
      });

      it(`to ${path} are refused with a Content-Length of more than 64 KiB before the body arrives`, async () => {
        const head = [`POST ${path} HTTP/1.1`, 'Host: x', `Content-Type: ${FORM}`, 'Content-Length: 99999999'].join(
          '\r\n',
        );
        const answer = await raw(mandate, head, 'token=x');
        expect(answer)
          .to.match(/^HTTP\/1\.1 400 /)
          .and.to.match(/64 KiB/);
      });

      it(`to ${path} are refused with repeated parameters, of which only known ones are named`, async () => {
        const form = { headers: { 'content-type': FORM } };
        await expectInvalid(send({ ...form, body: 'token=a&token=b&scope=a&scope=b' }), /parameter token is repeated/);
        await expectInvalid(send({ ...form, body: 'secret-thing=a&secret-thing=b' }), /^A parameter is repeated\.$/);
        // Without Service:Exchange:AudienceParameter no endpoint reads it.
        await expectInvalid(send({ ...form, body: 'audience=a&audience=b' }), /^A parameter is repeated\.$/);
      });

      it(`to ${path} are refused with malformed percent-encoding and invalid UTF-8`, async () => {
        for (const body of ['token=%', 'token=%zz', 'token=%ff', new Uint8Array([0x74, 0x3d, 0xff])]) {
          await expectInvalid(send({ headers: { 'content-type': FORM }, body }), /well-formed/);
        }
      });

      it(`to another spelling of ${path} get 400 or 404`, async () => {
        const others = [`${path}/`, path.toUpperCase(), path.replace('oauth2', 'OAuth2'), `/${path}`, `${path}//`];
        for (const other of others) {
          const head = [`POST ${other} HTTP/1.1`, 'Host: x', `Content-Type: ${FORM}`, 'Content-Length: 7'].join('\r\n');
          const answer = await raw(mandate, `${head}\r\nConnection: close`, 'token=x');
          expect(answer, other).to.match(/^HTTP\/1\.1 40[04] /);
          expect(answer, other).to.match(/content-type: application\/problem\+json/i);
        }
      });
    }

    it('get a 4xx for unusual values of every parameter', async () => {
      const strange = ['..', '%2F', '__proto__', '\u0000', '\ufeff', '\u202e', '𝒳'.repeat(99), '{}', '-1', ' ', 'null'];
      const names = Object.keys(agent.exchangeForm());
      for (const name of names) {
        for (const value of strange) {
          const answer = await agent.exchange({ [name]: value });
          expect(answer.status, `${name}=${JSON.stringify(value)}`).to.be.within(400, 401);
          expect(answer.body.error).to.be.a('string');
        }
      }
    });

    it('get no 5xx for random bytes', async () => {
      for (let round = 0; round < 50; round += 1) {
        for (const path of ENDPOINTS) {
          const body = new Uint8Array(randomBytes(round * 7));
          const answer = await mandate.send(path, { method: 'POST', headers: { 'content-type': FORM }, body });
          expect(answer.status).to.be.below(500);
        }
      }
    });

    it('get problem details without a stack trace for unusual paths', async () => {
      const agents = ['..', '%2e%2e', '__proto__', '%'].map((id) => `/agents/${id}/jwks.json`);
      const others = ['/..', '/%2F', '/%', '/%ff', '/oauth2', '/oauth2/nothing', '/constructor', '/__proto__'];
      for (const path of [...agents, ...others]) {
        const answer = await raw(mandate, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close`);
        expect(answer, path).to.match(/^HTTP\/1\.1 40[04] /);
        expect(answer, path).to.match(/content-type: application\/problem\+json/i);
        expect(answer, path).not.to.match(/\n +at |node_modules|Error:/);
      }
    });

    it('get an answer that names neither the web framework nor the path', async () => {
      const answer = await mandate.get('/nothing-here');
      expect(answer.status).to.equal(404);
      expect(answer.headers.get('x-powered-by')).to.equal(null);
      expect(answer.headers.get('etag')).to.equal(null);
      expect(answer.body).to.include({ status: 404 });
      expect(answer.text).not.to.include('nothing-here');
    });

    it('get a challenge for the scheme of their Authorization header', async () => {
      const form = agent.exchangeForm({ actor_token: undefined });
      const answer = await mandate.post('/oauth2/token', form, { authorization: 'Basic eDp5' });
      expect(answer.status).to.equal(401);
      expect(answer.headers.get('www-authenticate')).to.match(/^Basic realm=/);
    });
  });
}
