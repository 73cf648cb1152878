/** A running Mandate with its console, and operators with sessions of it. */

import { formTokenOf } from '../../../adapters/http/browser/cookies.ts';
import { sealing, systemRandomness } from '../../../adapters/platform/system-crypto.ts';
import { beginSession } from '../../../application/sessions.ts';
import { consoleDigest } from '../../../composition/pages/console.ts';
import type { OperatorRole } from '../../../domain/operators/operator.ts';
import { Secret } from '../../../domain/secret.ts';
import { OPERATOR_SESSION_TTL } from '../../../domain/sessions/session.ts';
import { freePort } from '../../../scripts/free-port.ts';
import type { TestDatabase } from '../databases.ts';
import { type Mandate, startMandate, type Times } from '../mandate.ts';
import { agreeing } from '../moved-clock.ts';
import { OPERATORS } from '../operators.ts';

export interface ConsoleAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface OperatorAtConsole {
  /** The name and the value of the session's cookie. */
  readonly cookie: readonly [name: string, value: string];
  readonly formToken: string;
  open(path: string): Promise<ConsoleAnswer>;
  /** Sends a form as a browser does from a page of the console. */
  submit(path: string, fields: Readonly<Record<string, string>>): Promise<ConsoleAnswer>;
  /** Sends a form with a file. */
  upload(path: string, file: string | Uint8Array, formToken?: string): Promise<ConsoleAnswer>;
}

export interface ConsoleService {
  readonly mandate: Mandate;
  readonly origin: string;
  /** A session in the database, as after a sign-in at the provider. */
  signedIn(...roles: readonly OperatorRole[]): Promise<OperatorAtConsole>;
  stop(): Promise<void>;
}

export async function startConsole(
  database: TestDatabase,
  settings: Readonly<Record<string, string>> = {},
  times: Times = {},
): Promise<ConsoleService> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const fresh = await database.fresh();
  const mandate = await startMandate({
    ...times,
    database: { ...database, fresh: async () => fresh },
    settings: {
      ...OPERATORS,
      'Service:Operators:ClientId': 'console',
      'Service:Console:Port': String(port),
      'Service:Console:Origin': origin,
      ...settings,
    },
  });
  const storage = await fresh.open();
  const sessions = {
    kind: 'operator',
    ttl: OPERATOR_SESSION_TTL,
    digest: consoleDigest(mandate.settings),
    sealing,
    decisions: storage,
    sharedTime: agreeing(mandate.clock),
    randomness: systemRandomness(),
  } as const;
  return {
    mandate,
    origin,
    async signedIn(...roles) {
      const issuer = mandate.provider.issuer;
      const subject = `olga-${roles.join('-')}`;
      const who = { issuer, subject, sponsorKey: subject, roles, sessionId: undefined, authenticatedAt: undefined };
      const signIn = { issuedAt: mandate.clock.now(), idToken: new Secret('an.id.token') };
      const secret = await beginSession(sessions, who, signIn, undefined);
      if (secret === undefined) throw new Error('no session was opened');
      return operatorWith(origin, secret);
    },
    async stop() {
      await storage.close();
      await mandate.stop();
    },
  };
}

function operatorWith(origin: string, secret: string): OperatorAtConsole {
  const cookie = ['__Host-mandate-console', secret] as const;
  const formToken = formTokenOf(secret);
  const send = async (path: string, init: RequestInit): Promise<ConsoleAnswer> => {
    const own = { cookie: cookie.join('='), accept: 'text/html', 'sec-fetch-site': 'same-origin' };
    const headers = { ...own, ...(init.headers as Record<string, string> | undefined) };
    const answer = await fetch(`${origin}${path}`, { ...init, headers, redirect: 'manual' });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  return {
    cookie,
    formToken,
    open: (path) => send(path, {}),
    submit: (path, fields) =>
      send(path, { method: 'POST', body: new URLSearchParams({ form_token: formToken, ...fields }) }),
    upload(path, file, token = formToken) {
      const form = new FormData();
      form.set('form_token', token);
      form.set('file', new Blob([file], { type: 'application/yaml' }), 'agents.yaml');
      return send(path, { method: 'POST', body: form });
    },
  };
}
