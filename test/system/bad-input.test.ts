/** Whatever is sent: a clear refusal in the surface's own shape, recorded, never a 5xx, and nothing echoed. */

import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { expect } from 'chai';
import { databases } from '../support/databases.ts';
import { encodeForm, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';

const FORM = 'application/x-www-form-urlencoded';
/** Here the record of each one is looked at; how many at once are counted is test/system/ledger-seal.test.ts. */
const EACH_RECORDED = { 'Service:Audit:Aggregation:Enabled': 'false' };

const ENDPOINTS = ['/oauth2/token', '/oauth2/introspect', '/oauth2/revoke'];

/** Sends bytes as they are and gives back what came until the other side closed or fell silent. */
function raw(mandate: Mandate, head: string, body = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(mandate.url).port), '127.0.0.1');
    let text = '';
    socket.setTimeout(3000, () => socket.destroy());
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('close', () => resolve(text));
    socket.on('error', (error) => (text === '' ? reject(error) : resolve(text)));
    socket.write(`${head}\r\n\r\n${body}`);
  });
}

for (const database of databases) {
  describe(`bad input on ${database.name}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    before(async () => {
      mandate = await startMandate({ database, settings: EACH_RECORDED });
      agent = await mandate.agent();
    });
    after(() => mandate.stop());

    for (const path of ENDPOINTS) {
      const expectInvalid = async (send: () => Promise<Response>, detail: RegExp, status = 400) => {
        const lines = await mandate.recorded(async () => {
          const response = await send();
          const body = (await response.json()) as Record<string, unknown>;
          expect(response.status).to.equal(status);
          expect(response.headers.get('cache-control')).to.equal('no-store');
          expect(body).to.have.all.keys('error', 'error_description');
          expect(body.error).to.equal('invalid_request');
          expect(body.error_description).to.match(detail);
        });
        expect(lines).to.have.lengthOf(1);
        expect(lines[0]).to.include({
          event: 'token.denied',
          reason: 'invalid_request',
          decision: 'deny',
          agent_id: null,
          sponsor: null,
        });
      };
      const send = (init: RequestInit) => () => fetch(`${mandate.url}${path}`, { method: 'POST', ...init });

      it(`${path} refuses other media types and charsets`, async () => {
        const form = encodeForm(agent.exchangeForm());
        for (const type of [
          'application/json',
          'text/plain',
          `${FORM}; charset=iso-8859-1`,
          'multipart/form-data; boundary=x',
        ]) {
          await expectInvalid(send({ headers: { 'content-type': type }, body: form }), /x-www-form-urlencoded/);
        }
        await expectInvalid(send({ body: new Uint8Array(Buffer.from(form)) }), /x-www-form-urlencoded/);
      });

      it(`${path} takes the form's media type with its charset said`, async () => {
        const response = await send({ headers: { 'content-type': `${FORM}; Charset="UTF-8"` }, body: 'token=x' })();
        expect(await response.text()).not.to.match(/urlencoded/);
      });

      it(`${path} refuses compressed bodies`, async () => {
        await expectInvalid(
          send({ headers: { 'content-type': FORM, 'content-encoding': 'gzip' }, body: 'token=x' }),
          /compressed/,
        );
      });

      it(`${path} refuses a body over 64 KiB, declared or not`, async () => {
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

      it(`${path} answers a body that declares too much before it has come`, async () => {
        const head = [`POST ${path} HTTP/1.1`, 'Host: x', `Content-Type: ${FORM}`, 'Content-Length: 99999999'].join(
          '\r\n',
        );
        const answer = await raw(mandate, head, 'token=x');
        expect(answer)
          .to.match(/^HTTP\/1\.1 400 /)
          .and.to.match(/64 KiB/);
      });

      it(`${path} refuses repeated parameters, naming them only when it knows them`, async () => {
        const form = { headers: { 'content-type': FORM } };
        await expectInvalid(send({ ...form, body: 'token=a&token=b&scope=a&scope=b' }), /parameter token is repeated/);
        await expectInvalid(send({ ...form, body: 'secret-thing=a&secret-thing=b' }), /^A parameter is repeated\.$/);
      });

      it(`${path} refuses broken escapes and bytes that are not UTF-8`, async () => {
        for (const body of ['token=%', 'token=%zz', 'token=%ff', new Uint8Array([0x74, 0x3d, 0xff])]) {
          await expectInvalid(send({ headers: { 'content-type': FORM }, body }), /well-formed/);
        }
      });

      it(`${path} is answered under this path alone`, async () => {
        for (const other of [
          `${path}/`,
          path.toUpperCase(),
          path.replace('oauth2', 'OAuth2'),
          `/${path}`,
          `${path}//`,
        ]) {
          const head = [`POST ${other} HTTP/1.1`, 'Host: x', `Content-Type: ${FORM}`, 'Content-Length: 7'].join('\r\n');
          const answer = await raw(mandate, `${head}\r\nConnection: close`, 'token=x');
          expect(answer, other).to.match(/^HTTP\/1\.1 40[04] /);
          expect(answer, other).to.match(/content-type: application\/problem\+json/i);
        }
      });

      it(`${path} refuses other methods`, async () => {
        for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
          await expectInvalid(() => fetch(`${mandate.url}${path}`, { method }), /POST only/, 405);
        }
      });
    }

    it('never answers 5xx to strange values of any parameter', async () => {
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

    it('never answers 5xx to random bytes', async () => {
      for (let round = 0; round < 50; round += 1) {
        for (const path of ENDPOINTS) {
          const response = await fetch(`${mandate.url}${path}`, {
            method: 'POST',
            headers: { 'content-type': FORM },
            body: new Uint8Array(randomBytes(round * 7)),
          });
          expect(response.status).to.be.below(500);
        }
      }
    });

    it('answers strange paths with a problem, never a stack', async () => {
      const paths = [
        '/..',
        '/%2F',
        '/%',
        '/%ff',
        '/agents/../jwks.json',
        '/agents/%2e%2e/jwks.json',
        '/agents/__proto__/jwks.json',
      ];
      for (const path of [
        ...paths,
        '/agents/%/jwks.json',
        '/oauth2',
        '/oauth2/nothing',
        '/constructor',
        '/__proto__',
      ]) {
        const answer = await raw(mandate, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close`);
        expect(answer, path).to.match(/^HTTP\/1\.1 40[04] /);
        expect(answer, path).to.match(/content-type: application\/problem\+json/i);
        expect(answer, path).not.to.match(/\n +at |node_modules|Error:/);
      }
    });

    it('tells no framework, and nothing of its own insides', async () => {
      const answer = await mandate.get('/nothing-here');
      expect(answer.status).to.equal(404);
      expect(answer.headers.get('x-powered-by')).to.equal(null);
      expect(answer.headers.get('etag')).to.equal(null);
      expect(answer.body).to.include({ status: 404 });
      expect(answer.text).not.to.include('nothing-here');
    });

    it('tells a client that tried the Authorization header which scheme it was', async () => {
      const form = agent.exchangeForm({ actor_token: undefined });
      const answer = await mandate.post('/oauth2/token', form, { authorization: 'Basic eDp5' });
      expect(answer.status).to.equal(401);
      expect(answer.headers.get('www-authenticate')).to.match(/^Basic realm=/);
    });
  });
}
