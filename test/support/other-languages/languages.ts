/** Programs in other languages than ours, where the language and its libraries are installed, as Debian's packages. */

import { execFile, execFileSync } from 'node:child_process';

type Environment = Readonly<Record<string, string>>;

interface Ended {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

/** Runs a program until it exits. */
export type RunProgram = (file: string, environment: Environment, input?: string) => Promise<Ended>;

interface Language {
  readonly name: string;
  /** Whether it is installed, with these modules. */
  has(modules: readonly string[]): boolean;
  readonly run: RunProgram;
}

export const PYTHON = process.env.PYTHON ?? '/usr/bin/python3';
const GO = process.env.GO ?? 'go';
const RUBY = process.env.RUBY ?? '/usr/bin/ruby';

/** Languages, by the file name extension of a program. */
export const languages = {
  py: language('Python', {
    command: [PYTHON],
    importing: (modules) => [PYTHON, '-c', `import ${modules.join(', ')}`],
    // Without files of compiled modules beside the examples.
    settings: { PYTHONDONTWRITEBYTECODE: '1' },
  }),
  go: language('Go', {
    command: [GO, 'run'],
    importing: (modules) => [GO, 'list', ...modules],
    // Its packages are then those of Debian.
    settings: { GO111MODULE: 'off', GOPATH: process.env.GOPATH ?? '/usr/share/gocode', GOFLAGS: '' },
  }),
  rb: language('Ruby', {
    command: [RUBY],
    importing: (modules) => [RUBY, ...modules.map((one) => `-r${one}`), '-e', ''],
    settings: {},
  }),
};

export type Ending = keyof typeof languages;

function language(
  name: string,
  how: {
    readonly command: readonly string[];
    readonly importing: (modules: readonly string[]) => readonly string[];
    readonly settings: Environment;
  },
): Language {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...how.settings };
  return {
    name,
    has(modules) {
      const [program = '', ...rest] = how.importing(modules);
      try {
        execFileSync(program, rest, { env, stdio: 'ignore' });
        return true;
      } catch {
        return false;
      }
    },
    run: runner(how.command, how.settings),
  };
}

/** Runs programs with this command, to which it adds their file. */
export function runner(command: readonly string[], settings: Environment = {}): RunProgram {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...settings };
  return (file, environment, input = '') =>
    new Promise((resolve) => {
      const [program = '', ...rest] = [...command, file];
      const child = execFile(program, rest, { env: { ...env, ...environment } }, (error, output, errors) => {
        resolve({ code: error === null ? 0 : Number(error.code), output, errors });
      });
      child.stdin?.end(input);
    });
}
