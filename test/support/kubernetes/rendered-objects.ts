/** The objects that Helm rendered, as the pods see them. */

import { readFileSync } from 'node:fs';
import { readSettings } from '../../../composition/settings/read-settings.ts';
import { ADMIN_KEY } from '../mandate.ts';
import type { Manifest } from './helm.ts';
import { page } from './values.ts';

export const text = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

export type Members = Readonly<Record<string, unknown>>;

/** The value at a path of members; `undefined` if a member is missing. */
// biome-ignore lint/suspicious/noExplicitAny: rendered objects, whose types another test checks
export function dig(value: unknown, ...path: readonly (string | number)[]): any {
  return path.reduce<unknown>((part, name) => (part as Members | undefined)?.[name], value);
}

export const objectOf = (objects: readonly Manifest[], kind: string, name = 'mandate') => {
  const found = objects.filter((one) => one.kind === kind && dig(one, 'metadata', 'name') === name);
  if (found.length !== 1 || found[0] === undefined) throw new Error(`there must be one ${kind} ${name}`);
  return found[0];
};
export const podOf = (object: Manifest) => dig(object, 'spec', 'template', 'spec');
export const job = (objects: readonly Manifest[]) => objectOf(objects, 'Job', 'mandate-migrate');

/** The variables of an object's one container. */
export function variablesOf(object: Manifest): Record<string, string> {
  const variables = podOf(object).containers[0].env as readonly { name: string; value: string }[];
  return Object.fromEntries(variables.map(({ name, value }) => [name, value]));
}

export type Secrets = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The settings as the service reads them in the container. @param secrets more files of the Secret, by name */
export function settingsOf(objects: readonly Manifest[], secrets: Readonly<Record<string, string>> = {}) {
  const environment = variablesOf(objectOf(objects, 'Deployment'));
  const contents = [
    ['Service__Database__ConnectionString', { text: 'postgresql://mandate:secret@db.example/mandate' }],
    ['Service__Admin__ApiKey', { text: ADMIN_KEY }],
    ...Object.entries(secrets).map(([name, text]) => [name, { text }] as const),
  ] as const;
  return readSettings({ environment, overrides: [], files: { kind: 'read', contents } });
}

/** The files that the pod sees, by path, from the Secrets. @throws if a Secret or a key of it is missing */
export function filesOf(object: Manifest, secrets: Secrets): Record<string, string> {
  const files: Record<string, string> = {};
  for (const { name, mountPath } of dig(podOf(object), 'containers', 0, 'volumeMounts')) {
    const volume = podOf(object).volumes.find((one: Members) => one.name === name);
    const sources = volume.projected?.sources.map((one: Members) => one.secret) ?? [volume.secret ?? []].flat();
    for (const { secretName, name = secretName, items } of sources) {
      const secret = secrets[name];
      if (secret === undefined) throw new Error(`there is no Secret ${name}`);
      for (const { key, path } of items ?? Object.keys(secret).map((key) => ({ key, path: key }))) {
        if (secret[key] === undefined) throw new Error(`the Secret ${name} has no key ${key}`);
        files[`${mountPath}/${path}`] = secret[key];
      }
    }
  }
  return files;
}

/** The Secrets of the page, each key with the name of the file that holds it. */
export function secretsOfPage(): Secrets {
  const made = [...page.matchAll(/^kubectl create secret generic (\S+) (.*)$/gm)].filter(
    ([line]) => !line.endsWith('\\'),
  );
  return Object.fromEntries(
    made.map(([, name, rest = '']) => [
      name,
      Object.fromEntries(
        [...rest.matchAll(/--from-file=(?:([\w-]+)=)?(\S+)/g)].map(([, key, file = '']) => [key ?? file, file]),
      ),
    ]),
  );
}
