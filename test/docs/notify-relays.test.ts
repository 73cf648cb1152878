/**
 * The relays of docs/examples/notify, started by the commands of docs/approvals.md. The SMTP server and the receiver of a chat's
 * messages are real.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { databases } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { type ExamplePlace, type ExampleServer, startExample } from '../support/example-process.ts';
import { startLoopback } from '../support/loopback.ts';
import { JIRA, type Mandate, startMandate } from '../support/mandate.ts';
import { type MessageReceiver, startChatReceiver, startSmtpReceiver } from '../support/message-receivers.ts';
import { blocksRunBy } from '../support/pages/run-by.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';
import { approvalSettings, askingServer, asks } from '../support/tool-server/approval-request.ts';

const ISSUER = 'https://mandate.example';
const TOKEN = 'knock==';
const ID = `approval_${'0'.repeat(25)}`;
const idOf = (last: string) => `${ID}${last}`;

const PEOPLE = JSON.stringify({ ada: 'ada@people.example', grace: 'grace@people.example' });

/** The command of the page, with these values of its variables, on a port that is free. */
function inShell(command: string, given: Readonly<Record<string, string>>): ExamplePlace {
  const { DIRECTORY = '', ...values } = given;
  const text = Object.entries({ ...values, NOTIFY_TOKEN: TOKEN, PORT: '0' }).reduce(
    (so, [variable, value]) => so.replace(new RegExp(`\\b${variable}=\\S+`), () => `${variable}=${value}`),
    command.replaceAll('people.json', () => DIRECTORY).replace('npx tsx', 'exec node --import tsx'),
  );
  return { folder: process.cwd(), program: 'bash', argumentsFor: () => ['-c', text] };
}

for (const { name, start, refusal, late, away } of [
  { name: 'notify/email.ts', start: startSmtpReceiver, refusal: 'EENVELOPE', late: 'EABORT', away: 'ESOCKET' },
  {
    name: 'notify/chat.ts',
    start: startChatReceiver,
    refusal: 'the chat answered 500',
    late: 'TimeoutError',
    away: 'ECONNREFUSED',
  },
]) {
  describe(`docs/examples/${name}`, function () {
    this.timeout(60_000);
    const folder = mkdtempSync(join(tmpdir(), 'mandate-relay-'));
    const DIRECTORY = join(folder, 'people.json');
    let receiver: MessageReceiver;
    let relay: ExampleServer;
    before(async () => {
      writeFileSync(DIRECTORY, PEOPLE);
      receiver = await start();
      const command = blocksRunBy('test/docs/notify-relays.test.ts', 'docs/approvals.md').find(({ text }) =>
        text.includes(name),
      );
      relay = await startExample(
        name,
        {},
        inShell(String(command?.text), { ISSUER, DIRECTORY, ...receiver.environment }),
      );
      writeFileSync(DIRECTORY, PEOPLE);
    });
    after(async () => {
      await relay.stop();
      await receiver.close();
      rmSync(folder, { recursive: true });
    });

    const post = async (body: string, headers: Record<string, string> = { authorization: `Bearer ${TOKEN}` }) =>
      (await fetch(relay.url, { method: 'POST', body, headers })).status;
    const notify = (sponsorKey: string, last = 'A') =>
      post(JSON.stringify({ approval_id: idOf(last), sponsor_key: sponsorKey }));

    it('sends the person of the notice the address of the question', async () => {
      expect(await notify('ada')).to.equal(202);
      const message = await receiver.next();
      expect(message)
        .to.contain(`${ISSUER}/me/approvals/${idOf('A')}`)
        .and.contain('ada@people.example');
    });

    it('does not start without a variable that it needs, and names it: otherwise each message would fail', () => {
      const environment = { ...process.env, ISSUER, DIRECTORY };
      const { status, stderr } = spawnSync(process.execPath, ['--import', 'tsx', `docs/examples/${name}`], {
        env: environment,
        encoding: 'utf8',
      });
      expect([status, stderr]).to.deep.equal([2, `Set ${Object.keys(receiver.environment).join(', ')}.\n`]);
    });

    it('refuses what is no notice of Mandate, and sends nothing for it or for a person who is not in the directory', async () => {
      const notice = { approval_id: ID, sponsor_key: 'ada' };
      const text = JSON.stringify({ ...notice, approval_id: idOf('A') });
      expect(await post(text, {}), 'no token').to.equal(401);
      expect(await post(text, { authorization: 'Bearer knock=' }), 'another token').to.equal(401);
      for (const body of [
        ...['', 'null', '5', '{', '[]', '{}', 'x'.repeat(5000)],
        ...[notice, { ...notice, approval_id: `${idOf('A')}/../x` }, { approval_id: idOf('A') }].map((one) =>
          JSON.stringify(one),
        ),
      ]) {
        expect(await post(body), body.slice(0, 60)).to.equal(400);
      }
      expect((await fetch(relay.url)).status).to.equal(405);
      for (const unknown of ['barbara', '__proto__', 'constructor']) expect(await notify(unknown)).to.equal(202);
      // The first message after all of them is that of the last notice.
      expect(await notify('grace', 'Z')).to.equal(202);
      expect(await receiver.next()).to.contain(idOf('Z'));
    });

    it('tries again after a refusal, and does not wait for a receiver that hangs', async () => {
      receiver.treatments.push('hang');
      expect(await notify('ada', 'H')).to.equal(202);
      await receiver.untaken();
      receiver.treatments.push('refuse');
      expect(await notify('ada', 'R')).to.equal(202);
      await receiver.untaken();
      expect(await notify('grace', 'G')).to.equal(202);
      expect(await receiver.next(), 'in front of both others').to.contain(idOf('G'));
      expect(await receiver.next(), 'at the second attempt').to.contain(idOf('R'));
    });
  });

  describe(`docs/examples/${name}, whose receiver fails for as long as it tries`, function () {
    this.timeout(60_000);
    const folder = mkdtempSync(join(tmpdir(), 'mandate-relay-'));
    const DIRECTORY = join(folder, 'people.json');
    const closing: (() => Promise<unknown>)[] = [];
    let receiver: MessageReceiver;
    before(async () => {
      writeFileSync(DIRECTORY, PEOPLE);
      receiver = await start();
    });
    after(async () => {
      for (const close of closing.toReversed()) await close();
      rmSync(folder, { recursive: true });
    });

    /** @param more variables of the relay */
    async function relayWith(more: Readonly<Record<string, string>>) {
      const relay = await startExample(name, { ISSUER: `${ISSUER}/`, DIRECTORY, ...receiver.environment, ...more });
      closing.push(relay.stop);
      const notify = async (last: string) => {
        const body = JSON.stringify({ approval_id: idOf(last), sponsor_key: 'ada' });
        return (await fetch(relay.url, { method: 'POST', body })).status;
      };
      return { notify, lines: relay.lines };
    }

    it('gives up, says so in its log without the address of person or receiver, and serves the next notice', async () => {
      const { notify, lines } = await relayWith({ TRY_FOR_SECONDS: '1.5' });
      receiver.treatments.push('refuse', 'refuse');
      expect(await notify('R')).to.equal(202);
      await eventually(() => lines.length === 1);
      expect(receiver.treatments, 'two attempts').to.deep.equal([]);
      expect(await notify('T')).to.equal(202);
      expect(await receiver.next(), 'of an issuer with a slash')
        .to.contain(`${ISSUER}/me/approvals/${idOf('T')}`)
        .and.not.contain('//me');
      receiver.treatments.push('hang');
      const asked = Date.now();
      expect(await notify('H')).to.equal(202);
      await eventually(() => lines.length === 3);
      expect(Date.now() - asked, 'an attempt ends with its tries, not after its ten seconds').to.be.below(10_000);
      await receiver.close();
      expect(await notify('A')).to.equal(202);
      await eventually(() => lines.length === 4);
      rmSync(DIRECTORY);
      expect(await notify('D')).to.equal(202);
      await eventually(() => lines.length === 5);
      writeFileSync(DIRECTORY, PEOPLE);
      expect(lines).to.deep.equal([
        `${idOf('R')}: given up: ${refusal}`,
        `${idOf('T')}: sent`,
        `${idOf('H')}: given up: ${late}`,
        `${idOf('A')}: given up: ${away}`,
        `${idOf('D')}: given up: ENOENT`,
      ]);
    });

    it('answers 503 with 1,000 messages under way', async () => {
      const gone = await start();
      await gone.close();
      const { notify } = await relayWith(gone.environment);
      for (let sent = 0; sent < 1000; sent += 50) {
        const answers = await Promise.all(Array.from({ length: 50 }, () => notify('B')));
        expect(new Set(answers)).to.deep.equal(new Set([202]));
      }
      expect(await notify('B')).to.equal(503);
    });
  });
}

describe('A notice of Mandate that is relayed to e-mail', function () {
  this.timeout(60_000);
  const folder = mkdtempSync(join(tmpdir(), 'mandate-relay-'));
  const closing: (() => Promise<unknown>)[] = [];
  after(async () => {
    for (const close of closing.toReversed()) await close();
    rmSync(folder, { recursive: true });
  });

  it('leads to the page of the question, and has none of its words', async () => {
    const receiver = await startSmtpReceiver();
    closing.push(receiver.close);
    const DIRECTORY = join(folder, 'people.json');
    writeFileSync(DIRECTORY, JSON.stringify({ ada: 'Ada Lovelace <ada@people.example>' }));
    const environment = { ISSUER: 'https://mandate.test', DIRECTORY, NOTIFY_TOKEN: TOKEN, ...receiver.environment };
    const relay = await startExample('notify/email.ts', environment);
    closing.push(relay.stop);
    const proxy = await startLoopback(
      ({ method, headers, body }, response) => {
        const authorization = String(headers.authorization);
        void fetch(relay.url, { method, body, headers: { authorization } }).then(({ status }) =>
          response.writeHead(status).end(),
        );
      },
      { tls: true },
    );
    closing.push(proxy.close);
    const [database = expect.fail()] = databases;
    let mandate: Mandate | undefined;
    const clock = { issuer: () => String(mandate?.issuer), now: () => Number(mandate?.clock.seconds()) };
    const jira = await askingServer(JIRA, clock);
    mandate = await startMandate({
      database,
      settings: {
        ...approvalSettings(jira),
        ...sharedSigningKey(),
        'Service:Me:ClientId': 'the-page',
        'Service:Approvals:Notify:Url': proxy.url,
        'Service:Approvals:Notify:BearerToken': TOKEN,
      },
    });
    closing.push(mandate.stop);
    const { access_token: token, task_id: taskId } = (await (await mandate.agent()).exchange()).body;
    const { approval_uri: uri } = (await asks(mandate, token, jira.request(taskId, { title: 'Pay 4711.35 EUR' }))).body;
    await mandate.jobs.notify();
    const mail = await receiver.next();
    expect(mail)
      .to.contain(String(uri))
      .and.match(/^ada@people\.example\n/);
    expect(mail)
      .to.match(/^From: mandate@mandate\.test\r$/m)
      .and.match(/^To: Ada Lovelace <ada@people\.example>\r$/m);
    for (const word of ['Pay', '4711.35', 'Issue', 'PAY-7', 'Delete']) expect(mail).not.to.contain(word);
  });
});
