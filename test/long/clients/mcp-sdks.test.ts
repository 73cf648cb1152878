/** The clients of both MCP SDKs, unmodified, in every way in which a client can be known, at three identity providers, in Chromium. */

import { createPrivateKeyJwtAuth } from '@modelcontextprotocol/client';
import { makeAgentKey } from '../../support/agents/agent-key.ts';
import { closeBrowser } from '../../support/browser.ts';
import { type Callback, startCallback } from '../../support/clients/callback.ts';
import { serveDocument } from '../../support/clients/document.ts';
import { type Door, doors } from '../../support/clients/doors.ts';
import { type PersonInBrowser, personInBrowser } from '../../support/clients/person.ts';
import { registerProgram } from '../../support/clients/program.ts';
import { type Protection, protections, startProtectedMcp } from '../../support/clients/protected-mcp.ts';
import { type Sdk, sdks } from '../../support/clients/sdk-clients.ts';
import { sdkHost } from '../../support/clients/sdk-host.ts';
import { liveThroughAll } from '../../support/clients/whole-way.ts';
import type { Mandate } from '../../support/mandate.ts';

/** The port is free (RFC 8252 §7.3). */
const REGISTERED = 'http://127.0.0.1/callback';

/**
 * How the service knows a program. With a key comes first: the SDK dates its assertions by the clock of the machine, and every
 * way moves the clock of the service further ahead. After five of them an assertion would have expired before it is sent.
 */
const KNOWN = {
  'by its document with a key': async (mandate: Mandate, endpoint: string, redirectUrl: string) => {
    const key = await makeAgentKey();
    const { address, close } = await serveDocument([REGISTERED], key.jwks);
    const changes = { client_id_document: address, public_client: false };
    const agent = await registerProgram(mandate, endpoint, changes);
    const authenticate = createPrivateKeyJwtAuth({
      issuer: address,
      subject: address,
      privateKey: { ...key.privateJwk },
      alg: 'ES256',
    });
    const host = sdkHost({ redirectUrl, document: address, authenticate });
    return { agent, host, client: 'document', rotates: false, close } as const;
  },
  'by the id of its agent': async (mandate: Mandate, endpoint: string, redirectUrl: string) => {
    const agent = await registerProgram(mandate, endpoint, { redirect_uris: [REGISTERED] });
    const host = sdkHost({ redirectUrl, clientId: agent.id });
    return { agent, host, client: 'public', rotates: true, close: async () => undefined } as const;
  },
  'by its registration': async (mandate: Mandate, endpoint: string, redirectUrl: string) => {
    const clientName = `Triage at ${endpoint}`;
    const changes = { redirect_uris: [REGISTERED], client_names: [clientName] };
    const agent = await registerProgram(mandate, endpoint, changes);
    const host = sdkHost({ redirectUrl, clientName });
    return { agent, host, client: 'public', rotates: true, close: async () => undefined } as const;
  },
  'by its document': async (mandate: Mandate, endpoint: string, redirectUrl: string) => {
    const { address, close } = await serveDocument([REGISTERED]);
    const changes = { client_id_document: address, public_client: false };
    const agent = await registerProgram(mandate, endpoint, changes);
    const host = sdkHost({ redirectUrl, document: address });
    return { agent, host, client: 'public', rotates: true, close } as const;
  },
};

type Known = keyof typeof KNOWN;
const everyWay = Object.keys(KNOWN) as readonly Known[];

describe('The MCP SDKs', function () {
  this.timeout(120_000);
  after(() => closeBrowser());

  for (const [nth, { name, missing, start }] of doors.entries()) {
    describe(`at ${name}`, () => {
      if (missing !== undefined) {
        it(`is skipped: Debian's packages ${missing} are not installed`, function () {
          this.skip();
        });
        return;
      }
      let door: Door;
      let person: PersonInBrowser;
      let callback: Callback;
      // A way moves the service's clock ahead. After three of them Better Auth refuses the assertion of the service's own client.
      const [begin, end] = name === 'Better Auth' ? [beforeEach, afterEach] : [before, after];
      begin(async () => {
        door = await start();
        person = await personInBrowser(door);
        callback = await startCallback();
      });
      end(async () => {
        await person.close();
        await callback.close();
        await door.stop();
      });

      // At the first provider every way, at the others each SDK in two.
      const ways = everyWay.flatMap((known, way) =>
        sdks.flatMap((sdk, at): readonly (readonly [Sdk, Known, Protection])[] => {
          if (nth > 0 && (way + at + nth) % 2 === 0) return [];
          return [[sdk, known, protections[(way + at + nth) % 2 === 0 ? 0 : 1] ?? 'the guard']];
        }),
      );
      for (const [sdk, known, by] of ways) {
        it(`${sdk.name}, known ${known}, walks in at ${by}, and lives through everything`, async () => {
          const { mandate } = door;
          const server = await startProtectedMcp(mandate, by);
          const { close, ...program } = await KNOWN[known](mandate, server.endpoint, callback.address);
          await liveThroughAll({
            ...program,
            mandate,
            endpoint: server.endpoint,
            sdk,
            answer: async (address, answer) => {
              await person.answer(address, answer);
              return callback.next();
            },
          });
          await close();
          await server.stop();
        });
      }
    });
  }
});
