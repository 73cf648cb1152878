import { expect } from 'chai';
import { type ConsoleService, type OperatorAtConsole, startConsole } from '../../support/console/console-service.ts';
import { databasesByLength } from '../../support/databases.ts';
import type { RegisteredAgent } from '../../support/mandate.ts';
import { rawConnection } from '../../support/raw-http.ts';

const REASON = 'incident 4711';
/** A form with a longer file is refused before it is read. */
const MOST_BYTES = 65_000;
/** How much CPU time a file may take, against an ordinary one of nearly as many tokens as are read. */
const MOST_OF_ORDINARY = 2;
/** The maximum number of characters of a page about a file. */
const MOST_SHOWN = 30_000;
const START_LIMIT_MS = 120_000;

for (const database of databasesByLength) {
  describe(`the console's screens Delegation, Task and Agents on ${database.name}`, function () {
    this.timeout(60_000);
    let service: ConsoleService;
    let agent: RegisteredAgent;
    let taskId: string;
    let viewer: OperatorAtConsole;
    let auditor: OperatorAtConsole;
    let registrar: OperatorAtConsole;

    before(async function () {
      this.timeout(START_LIMIT_MS);
      service = await startConsole(database);
      agent = await service.mandate.agent();
      taskId = String((await agent.exchange()).body.task_id);
      viewer = await service.signedIn('viewer');
      auditor = await service.signedIn('auditor');
      registrar = await service.signedIn('registrar');
    });
    after(() => service.stop());

    const shown = async (operator: OperatorAtConsole, path: string) => {
      const answer = await operator.open(path);
      expect(answer.status, `${path}: ${answer.text}`).to.equal(200);
      return answer.text;
    };

    it('show a task from the person to the tool server', async () => {
      const page = await shown(viewer, '/delegation');
      for (const to of [`/tasks/${taskId}`, `/agents/${agent.id}`, '/people?sponsor='])
        expect(page).to.include(`href="${to}`);
      expect(page).not.to.include('/stop?');
      expect(await shown(await service.signedIn('responder'), '/delegation')).to.include(
        `href="/stop?task_id=${taskId}"`,
      );
      expect(await shown(viewer, `/delegation?agent_id=${agent.id}&sponsor=&audience=`)).to.include(taskId);
      expect(await shown(viewer, '/delegation?agent_id=nobody')).to.include('There is no live task here.');
      expect(await shown(viewer, '/delegation?from=2001-01-01&to=2001-01-02')).to.include('No task ran in this time.');
    });

    it('refuse filters that the API would refuse, and name them', async () => {
      for (const [query, field] of [
        ['state=running', 'state'],
        ['from=yesterday', 'from'],
        ['to=2026-01-01', 'from'],
        ['from=2026-01-02&to=2026-01-01T00:00:00Z', 'to'],
        ['agent_id=A%20B', 'agent_id'],
        ['sponsor=a&sponsor=b', 'sponsor'],
        ['sponsor=%FF', 'sponsor'],
        ['colour=red', 'colour'],
      ] as const) {
        const { status, text } = await viewer.open(`/delegation?${query}`);
        expect([query, status]).to.deep.equal([query, 400]);
        expect(text, query).to.include(`<code>${field}</code>`);
      }
      const unknown = ['/', '/agents', `/agents/${agent.id}`, `/tasks/${taskId}`, '/doctor'].map(
        (path) => `${path}?x=1`,
      );
      const values = ['/agents?after=A', '/people?source=nobody', '/people?cursor=abc', '/people?sponsor=a%20b'];
      for (const path of [...unknown, ...values, '/ledger?decision=maybe']) {
        expect([path, (await auditor.open(path)).status]).to.deep.equal([path, 400]);
      }
      for (const path of [
        '/agents/unknown',
        '/agents/UPPER',
        '/tasks/task_01M31S7W68TMK7WDX8YKPSYTEZ',
        '/tasks/x',
        `/tasks/${taskId}/records/999999`,
      ]) {
        expect([path, (await auditor.open(path)).status]).to.deep.equal([path, 404]);
      }
    });

    it('show where the scope came from, and the life of each token, until after a kill', async () => {
      const own = await service.mandate.agent();
      const { body } = await own.exchange();
      const { mandate } = service;
      mandate.clock.advance(30);
      expect((await own.refresh(String(body.refresh_token))).status).to.equal(200);
      const path = `/tasks/${body.task_id}`;
      const live = await shown(viewer, path);
      expect(live).to.include('<strong>Live.</strong>').and.include('If it is stopped now, its last token works until');
      expect(live).not.to.include('not kept');
      expect([...live.matchAll(/<rect class="token"/g)]).to.have.lengthOf(2);
      mandate.clock.advance(5);
      expect((await mandate.admin('DELETE', `/admin/tasks/${body.task_id}`)).status).to.equal(200);
      for (const operator of [viewer, auditor]) {
        const ended = await shown(operator, path);
        expect(ended)
          .to.include('operator_kill_switch')
          .and.include('Its last token works until')
          .and.include('class="after"');
        const isAuditor = operator === auditor;
        expect(ended.includes(`${path}/records/`)).to.equal(isAuditor);
        expect(ended.includes('&quot;event&quot;: &quot;token.issued&quot;')).to.equal(isAuditor);
      }
    });

    it('prove a record once it is sealed', async () => {
      const line = (await service.mandate.ledger()).find((each) => each.task_id === taskId);
      const path = `/tasks/${taskId}/records/${line?.seq}`;
      expect(await shown(auditor, path)).to.include('Not sealed yet.');
      await service.mandate.jobs.seal();
      expect(await shown(auditor, path))
        .to.include('Sealed by checkpoint')
        .and.include('audit_path');
    });

    it('let a registrar disable an agent and enable it again, with a reason that the ledger seals', async () => {
      const own = await service.mandate.agent();
      const added = await service.mandate.recorded(async () => {
        const answer = await registrar.submit('/agent/disable', { agent_id: own.id, reason: REASON });
        expect([answer.status, answer.headers.get('location')]).to.deep.equal([303, `/agents/${own.id}`]);
      });
      expect(added.map(({ event, reason }) => [event, reason])).to.deep.equal([
        ['agent.updated', 'changed:enabled'],
        ['operator.acted', null],
      ]);
      const detail = new URLSearchParams(String(added[1]?.detail));
      expect(detail.get('act')).to.equal('PATCH /admin/agents/{agent_id}');
      expect([detail.get('sub'), detail.get('role')]).to.deep.equal(['olga-registrar', 'registrar']);
      expect((await own.exchange()).body).to.include({ error: 'access_denied', reason: 'agent_disabled' });
      expect(await shown(viewer, `/agents/${own.id}`)).to.include('<strong>Disabled.</strong>');
      expect((await registrar.submit('/agent/enable', { agent_id: own.id, reason: REASON })).status).to.equal(303);
      expect((await own.exchange()).status).to.equal(200);
    });

    it('do not disable an agent without a reason, and refuse an unknown one', async () => {
      expect((await registrar.submit('/agent/disable', { agent_id: agent.id })).status).to.equal(400);
      expect((await registrar.submit('/agent/disable', { agent_id: 'unknown', reason: REASON })).status).to.equal(404);
      expect((await service.mandate.admin('GET', `/admin/agents/${agent.id}`)).body.enabled).to.equal(true);
    });

    const yaml = (fields: Readonly<Record<string, unknown>>) =>
      Object.entries(fields)
        .map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`)
        .join('');
    const FRESH = {
      agent_id: 'fresh',
      display_name: 'Fresh',
      allowed_scopes: ['x'],
      allowed_audiences: ['https://x.example'],
      max_delegation_depth: 1,
      jwks_uri: 'https://keys.example/jwks.json',
    };

    it('compare a dropped file with the registered agents, and change nothing', async () => {
      const { body } = await service.mandate.admin('GET', `/admin/agents/${agent.id}`);
      const { created_at: _, updated_at: __, ...registered } = body;
      const same = Object.fromEntries(Object.entries(registered).filter(([, value]) => value !== null));
      const added = await service.mandate.recorded(async () => {
        const unchanged = await viewer.upload('/agent/compare', yaml(same));
        expect(unchanged.status).to.equal(200);
        expect(unchanged.text).to.include('The same, as far as the file says.');
        const changed = { ...same, display_name: 'Another', allowed_scopes: ['only:this'] };
        const different = await viewer.upload('/agent/compare', `${yaml(changed)}---\n${yaml(FRESH)}`);
        expect(different.text).to.include('<strong>1 agent</strong> differs, <strong>1</strong> is not registered');
        expect(different.text).to.include('only:this').and.include('Another').and.include('the file would register it');
        const refused = await viewer.upload('/agent/compare', yaml({ ...same, max_task_ttl: 'P30D' }));
        expect(refused.text).to.include('This service would refuse it').and.include('max_task_ttl');
      });
      expect(added).to.deep.equal([]);
      expect((await service.mandate.admin('GET', `/admin/agents/${agent.id}`)).body).to.deep.equal(body);
    });

    it('do not wait for the file of a sender without a session, who would keep a permit meanwhile', async () => {
      const connection = await rawConnection(service.origin);
      connection.send(
        'POST /agent/compare HTTP/1.1\r\nHost: console.test\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000\r\n\r\n--b',
      );
      expect(await connection.until('\r\n\r\n')).to.match(/^HTTP\/1\.1 401 /);
      connection.leave();
    });

    const fill = (unit: (nth: number) => string, before = '', after = '', length = MOST_BYTES) => {
      let text = before;
      for (let nth = 0; text.length + unit(nth).length + after.length < length; nth += 1) text += unit(nth);
      return text + after;
    };
    const laughs = (lines: number) =>
      `a0: &a0 [[], [], []]\n${Array.from({ length: lines }, (_, nth) => `a${nth + 1}: &a${nth + 1} [*a${nth}, *a${nth}, *a${nth}]\n`).join('')}`;
    const TOO_MUCH = 'The file has more than this page reads.';
    const hostile: Readonly<Record<string, readonly [file: string, said: string, where: string]>> = {
      'small keys': [fill((nth) => `k${nth}: 1\n`), TOO_MUCH, 'The file:572: '],
      'an alias in each field': [fill((nth) => `k${nth}: *a\n`, 'a: &a x\n'), TOO_MUCH, 'The file:21: '],
      'aliases of aliases': [laughs(1000), TOO_MUCH, 'The file:6: '],
      'lists in lists': [`a: ${'['.repeat(30_000)}${']'.repeat(30_000)}`, TOO_MUCH, 'The file:1: '],
      'wrong escapes': [fill(() => '\\q', 'a: "', '"'), TOO_MUCH, 'The file:1: '],
    };
    const ordinary = Array.from({ length: 45 }, (_, nth) => yaml({ ...FRESH, agent_id: `fresh-${nth}` })).join('---\n');
    const compared = async (file: string) => {
      const before = process.cpuUsage();
      const { text } = await viewer.upload('/agent/compare', file);
      const { user, system } = process.cpuUsage(before);
      return { text, cpu: user + system };
    };
    for (const [what, [file, said, where]] of Object.entries(hostile)) {
      it(`take for a file of ${what} at most twice the CPU time of an ordinary one: it is refused, with the place`, async () => {
        const ratios: number[] = [];
        // The first run also compiles the code, and other tests run beside this one.
        for (let run = 0; run < 5 && Math.min(...ratios) >= MOST_OF_ORDINARY; run += 1) {
          const usual = await compared(ordinary);
          expect(usual.text).to.include('<strong>45</strong> are not registered');
          const { text, cpu } = await compared(file);
          ratios.push(cpu / usual.cpu);
          expect(text).to.include(said).and.include(where);
          expect(text.length).to.be.below(MOST_SHOWN);
        }
        expect(Math.min(...ratios), ratios.join(', ')).to.be.below(MOST_OF_ORDINARY);
      });
    }

    it('say what is wrong with a dropped file', async () => {
      const page = async (file: string | Uint8Array) => (await viewer.upload('/agent/compare', file)).text;
      expect(await page('agent_id: [')).to.include('The file:');
      expect(await page('agent_id: a\ncolour: red\n')).to.include('Is not a field of a registration.');
      expect(await page(Uint8Array.of(0xff, 0xfe))).to.include('Is not text in UTF-8.');
      expect(await page('')).to.include('Contains no registration.');
      const long = await viewer.upload('/agent/compare', `# ${'x'.repeat(70_000)}`);
      expect([long.status, long.text.includes('The file is too long')]).to.deep.equal([400, true]);
      const foreign = await service.mandate.recorded(async () => {
        expect((await viewer.upload('/agent/compare', yaml(FRESH), 'wrong')).status).to.equal(403);
      });
      expect(foreign.map(({ event, reason }) => [event, reason]).slice(0, 1)).to.satisfy((lines: unknown[][]) =>
        lines.every(([event, reason]) => event === 'admin.denied' && reason === 'invalid_form_token'),
      );
      // Without a form, as a browser that opens the address again.
      expect((await viewer.open('/agent/compare')).headers.get('location')).to.equal('/agents');
    });
  });
}
