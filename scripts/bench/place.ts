/** Where and of what the figures are: without it a figure says nothing. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, platform, release, totalmem } from 'node:os';

/** One line each: the machine, the versions, the date and commit. */
export function describePlace(now: Date): readonly string[] {
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  return [
    `Machine: ${cpus()[0]?.model ?? 'unknown CPU'}, ${availableParallelism()} cores, ${memory}, ${platform()} ${release()} ${arch()}`,
    `Versions: Node ${process.versions.node}, oidc-provider ${packageVersion('oidc-provider')}`,
    `Date: ${now.toISOString().slice(0, 10)}, commit ${commit()}`,
  ];
}

function packageVersion(name: string): string {
  const text = readFileSync(new URL(`../../node_modules/${name}/package.json`, import.meta.url), 'utf8');
  const { version }: { version: string } = JSON.parse(text);
  return version;
}

function commit(): string {
  try {
    const git = (...args: string[]) =>
      execFileSync('git', args, {
        cwd: new URL('../..', import.meta.url),
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
    const head = git('rev-parse', '--short', 'HEAD').trim();
    return git('status', '--porcelain', '--', '.', ':!docs') === '' ? head : `${head} with local changes`;
  } catch {
    return 'none';
  }
}
