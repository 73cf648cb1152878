/** Programs in other languages than ours, where Debian's packages for them are installed. */

import { execFile, execFileSync } from 'node:child_process';

type Environment = Readonly<Record<string, string>>;

interface Ended {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

export interface Language {
  readonly name: string;
  /** The ending of its programs' names. */
  readonly ending: string;
  /** Debian's packages. */
  readonly packages: string;
  readonly isInstalled: boolean;
  /** Runs a program until it exits. */
  run(file: string, args: readonly string[], environment?: Environment): Promise<Ended>;
}

const PYTHON = process.env.PYTHON ?? '/usr/bin/python3';
const GO = process.env.GO ?? 'go';
/** Go then takes its packages from where Debian installs them. */
const GO_SETTINGS = { GO111MODULE: 'off', GOPATH: process.env.GOPATH ?? '/usr/share/gocode', GOFLAGS: '' };

export const languages: readonly Language[] = [
  language({
    ...{ name: 'Python', ending: 'py', packages: 'python3-authlib python3-jwt python3-requests' },
    command: [PYTHON],
    // Without files of compiled modules beside the examples.
    settings: { PYTHONDONTWRITEBYTECODE: '1' },
    probe: ['-c', 'import authlib, jwt, requests'],
  }),
  language({
    ...{
      name: 'Go',
      ending: 'go',
      packages: 'golang-go golang-golang-x-oauth2-dev golang-gopkg-square-go-jose.v2-dev',
    },
    command: [GO, 'run'],
    settings: GO_SETTINGS,
    probe: ['list', 'golang.org/x/oauth2', 'gopkg.in/square/go-jose.v2/jwt'],
  }),
];

function language({
  command: [program = '', ...first],
  settings,
  probe,
  ...about
}: Pick<Language, 'name' | 'ending' | 'packages'> & {
  readonly command: readonly string[];
  readonly settings: Environment;
  readonly probe: readonly string[];
}): Language {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...settings };
  return {
    ...about,
    get isInstalled() {
      try {
        execFileSync(program, probe, { env, stdio: 'ignore' });
        return true;
      } catch {
        return false;
      }
    },
    run: (file, args, environment = {}) =>
      new Promise((resolve) => {
        const line = [...first, file, ...args];
        execFile(program, line, { env: { ...env, ...environment } }, (error, output, errors) => {
          resolve({ code: error === null ? 0 : Number(error.code), output, errors });
        });
      }),
  };
}
