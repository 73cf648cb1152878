/**
 * A real provider that demands what many do not, as those of the FAPI profiles: pushed requests, signed requests, access
 * tokens that are bound to a key. Each case tries a sign-in at the page and at the console, and reads the doctor's findings.
 */

import { expect } from 'chai';
import { renderFindings } from '../../../adapters/cli/findings-report.ts';
import type { NamedFinding } from '../../../application/doctor/examine.ts';
import { operators, signedInOperator } from '../../support/console/operators-browser.ts';
import { type OddWorld, type OddWorldOptions, startOddWorld } from '../../support/identity-provider/odd-world.ts';
import type { Oddities } from '../../support/identity-provider/oddities.ts';
import { CONSOLE_CLIENT_ID, PAGE_CLIENT_ID } from '../../support/identity-provider/provider-configuration.ts';
import { type Answer, fieldsOf } from '../../support/mandate.ts';
import { personBrowser } from '../../support/me/person-browser.ts';

const PUSHED = 'Service:UpstreamIdp:PushedAuthorization';
const AREAS = ['page', 'console'] as const;
const CLIENTS = { page: PAGE_CLIENT_ID, console: CONSOLE_CLIENT_ID } as const;
const NAMES = { page: 'sign-in', console: 'console' } as const;

describe('A provider that demands', function () {
  this.timeout(60_000);

  const withWorld = async (
    options: OddWorldOptions,
    work: (world: OddWorld) => Promise<void>,
    odd: Oddities = {},
  ): Promise<void> => {
    const world = await startOddWorld(odd, options);
    try {
      await work(world);
    } finally {
      await world.stop();
    }
  };
  const findingOf = (found: readonly NamedFinding[], check: string) => {
    const finding = found.find((one) => one.check === check);
    if (finding === undefined) throw new Error(`${check} is not among\n${renderFindings(found, false)}`);
    return finding;
  };
  const refusals = ({ mandate }: OddWorld) =>
    mandate.log.lines.map((line) => JSON.parse(line)).filter(({ message }) => message === 'A sign-in was refused.');
  const signIn = async ({ mandate, origin }: OddWorld, area: (typeof AREAS)[number]): Promise<Answer> =>
    area === 'page' ? personBrowser(mandate).signIn() : (await signedInOperator({ origin }, operators.viewer)).signedIn;
  const titleOf = ({ text }: Answer) => /<h1>([^<]*)<\/h1>/.exec(text)?.[1];

  it('pushed requests gets them: the browser carries a reference alone, people sign in, and the doctor tries it', async () => {
    await withWorld({ demands: { pushedRequests: 'of_all' } }, async (world) => {
      for (const area of AREAS) {
        const address = await world.begins(area);
        expect([...address.searchParams.keys()].sort()).to.deep.equal(['client_id', 'request_uri']);
        expect(address.searchParams.get('client_id')).to.equal(CLIENTS[area]);
        expect(await world.works(area), area).to.equal(true);
        const found = await world.findings(area);
        expect(findingOf(found, `${NAMES[area]} provider`).status).to.equal('ok');
        expect(findingOf(found, `${NAMES[area]} client`).sentence).to.match(
          new RegExp(`^The provider accepts the client ${CLIENTS[area]}, and its pushed request\\. `),
        );
      }
      expect(refusals(world)).to.deep.equal([]);
    });
  });

  it('pushed requests, while the setting is never, lets no person in: page, log and doctor say what is demanded', async () => {
    await withWorld({ demands: { pushedRequests: 'of_all' }, settings: { [PUSHED]: 'never' } }, async (world) => {
      for (const area of AREAS) {
        const answer = await signIn(world, area);
        expect([answer.status, titleOf(answer)]).to.deep.equal([
          503,
          area === 'page'
            ? 'Your organisation does not accept this service'
            : 'The identity provider refuses the console',
        ]);
        expect(refusals(world).at(-1)).to.include({
          level: 'warn',
          reason: 'client_refused',
          error: 'invalid_request',
          demands: 'require_pushed_authorization_requests',
        });
        const finding = findingOf(await world.findings(area), `${NAMES[area]} provider`);
        expect(finding.status).to.equal('failed');
        expect(finding.sentence).to.include('and Service:UpstreamIdp:PushedAuthorization is never');
        expect(finding.remedy).to.equal('Set Service:UpstreamIdp:PushedAuthorization to auto.');
      }
    });
  });

  it('pushed requests of these clients alone gets them with always, also with a client secret', async () => {
    const secret = 'a-secret_of.the~client';
    const demands = { pushedRequests: 'of_clients' } as const;
    await withWorld({ demands, secret, settings: { [PUSHED]: 'always' } }, async (world) => {
      for (const area of AREAS) expect(await world.works(area), area).to.equal(true);
      const found = await world.findings('page');
      expect(findingOf(found, 'sign-in client').sentence).to.include(', and its pushed request.');
    });
  });

  it('nothing of that, and looks at codes before the client: the doctor asks for a sign-in, and knows it afterwards', async () => {
    await withWorld(
      {},
      async (world) => {
        for (const area of AREAS) {
          const ofClient = async () => findingOf(await world.findings(area), `${NAMES[area]} client`);
          const before = await ofClient();
          expect([before.status, before.remedy?.slice(0, 13)]).to.deep.equal(['warning', 'Sign in once.']);
          expect(await world.works(area)).to.equal(true);
          const after = await ofClient();
          expect([after.status, after.sentence.includes('the last known sign-in was')]).to.deep.equal(['ok', true]);
        }
      },
      { codeFirst: true },
    );
  });

  it('signed requests lets no person in: the doctor fails, and the log line of a sign-in names the demand', async () => {
    await withWorld({ demands: { signedRequests: true } }, async (world) => {
      for (const area of AREAS) {
        expect((await signIn(world, area)).status).to.equal(503);
        const expected = { reason: 'client_refused', demands: 'require_signed_request_object' };
        expect(refusals(world).at(-1)).to.include(expected);
        const finding = findingOf(await world.findings(area), `${NAMES[area]} provider`);
        expect([finding.status, finding.sentence]).to.deep.equal([
          'failed',
          `${area === 'page' ? 'People cannot sign in at /me' : 'Operators cannot sign in at the console'}: the provider's metadata demands signed request objects (require_signed_request_object). This service does not do that.`,
        ]);
      }
    });
  });

  it('both pushed and signed requests fails both checks: the trial shows that the request is refused', async () => {
    await withWorld({ demands: { pushedRequests: 'of_all', signedRequests: true } }, async (world) => {
      const found = await world.findings('page');
      expect(findingOf(found, 'sign-in provider').status).to.equal('failed');
      const client = findingOf(found, 'sign-in client');
      expect([client.status, client.sentence]).to.deep.equal([
        'failed',
        'The provider refuses the pushed request of the client mandate-page, so no person can sign in. The answer\'s status was 400, and its error is "invalid_request".',
      ]);
      const answer = await world.mandate.get('/me/sign-in', { accept: 'text/html' });
      expect([answer.status, titleOf(answer)]).to.deep.equal([503, 'Your organisation does not accept this service']);
      expect(answer.headers.get('set-cookie')).to.equal(null);
      expect(refusals(world).at(-1)).to.include({
        reason: 'client_refused',
        fault: 'pushed_request',
        error: 'invalid_request',
        status: 400,
        demands: 'require_signed_request_object',
      });
    });
  });

  it('a proof of a key says so on the page, without "begin again"; the ledger has it, and the doctor repeats it until a sign-in', async () => {
    await withWorld({ demands: { dpop: true } }, async (world) => {
      const { mandate } = world;
      for (const area of AREAS) {
        const warned = async () => findingOf(await world.findings(area), `${NAMES[area]} client`);
        expect((await warned()).status).to.equal('ok');
        const recorded = await mandate.recorded(async () => {
          const answer = await signIn(world, area);
          expect(answer.status).to.equal(503);
          expect(titleOf(answer)).to.match(/demands what (this service|the console) cannot do$/);
          expect(answer.text).not.to.include('egin again');
        });
        const event = area === 'page' ? 'me.denied' : 'admin.denied';
        expect(fieldsOf(recorded, 'event', 'decision', 'reason', 'sponsor')).to.deep.equal([
          [event, 'deny', 'sign_in_dpop_demanded', null],
        ]);
        expect(refusals(world).at(-1)).to.include({ level: 'warn', reason: 'sign_in_dpop_demanded' });
        const finding = await warned();
        expect(finding.status).to.equal('warning');
        expect(finding.sentence).to.match(
          / at the last sign-in with the client mandate-\w+, .*: sign_in_dpop_demanded\. /,
        );
        mandate.clock.advance(24 * 60 * 60 + 60);
        expect((await warned()).status, 'after a day').to.equal('ok');
      }
    });
  });
});
