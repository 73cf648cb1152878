/** The Compose file of docs/examples/deploy, with an operator's `.env` file. */

import { parse } from 'yaml';
import { text } from './dockerfile.ts';

export const composeText = text('docs/examples/deploy/compose.yaml');

type Texts = Readonly<Record<string, string>>;

/** An `.env` file with every variable of the example. */
const ENVIRONMENT: Texts = {
  POSTGRES_PASSWORD: 'superuser-password',
  MANDATE_OWNER_PASSWORD: 'owner-password',
  MANDATE_SERVING_PASSWORD: 'serving-password',
  MANDATE_ADMIN_KEY: 'an-admin-key-of-more-than-32-characters',
  MANDATE_ISSUER: 'https://mandate.example',
  MANDATE_IDP_ISSUER: 'https://idp.example/realms/main',
  MANDATE_IDP_AUDIENCE: 'https://mandate.example',
  MANDATE_IDP_USERS_URL: 'https://idp.example/admin/realms/main/users',
  MANDATE_IDP_TOKEN_URL: 'https://idp.example/realms/main/protocol/openid-connect/token',
  MANDATE_IDP_CLIENT_ID: 'mandate-poll',
  MANDATE_TRUSTED_PROXIES: '172.16.0.0/12',
};

/** The lines that are comments until an operator removes the `#`. */
export const OF_CONSOLE = /^( *)# (?=- |Service__(?:Console|Operators)__)/gm;
export const OF_APPROVALS = /^( *)# (?=Service__(?:Me|Approvals)__)/gm;

/** @param active the comments whose `#` is removed @param changes other values in the `.env` file */
export function composed(active: readonly RegExp[] = [], changes: Texts = {}): unknown {
  const environment: Texts = { ...ENVIRONMENT, ...changes };
  const interpolated = composeText.replaceAll(
    /\$\{(\w+)(?::([?-])([^}]*))?\}/g,
    (_, name: string, kind: string | undefined, rest: string | undefined) => {
      const value = environment[name] ?? (kind === '-' ? rest : undefined);
      if (value === undefined) throw new Error(`the test has no value for ${name}`);
      return value;
    },
  );
  const lines = active.reduce((all, pattern) => all.replaceAll(pattern, '$1'), interpolated);
  return parse(lines, { merge: true });
}
