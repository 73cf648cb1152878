/**
 * Runs Go, or a program of it. Go's checksum-database packages are in Debian's packages `golang-go` and
 * `golang-golang-x-mod-dev`. `go` is found in the PATH or as $GO, the packages in $GOPATH or where Debian installs them.
 * Without them the tests fail.
 */

import { execFile } from 'node:child_process';

export const GO = process.env.GO ?? 'go';

export function run(
  file: string,
  args: readonly string[],
): Promise<{ readonly failed: boolean; readonly out: string }> {
  const env = { ...process.env, GO111MODULE: 'off', GOPATH: process.env.GOPATH ?? '/usr/share/gocode', GOFLAGS: '' };
  return new Promise((resolve, reject) => {
    execFile(file, args, { env }, (error, out, err) => {
      if (error?.code === 'ENOENT')
        reject(new Error('There is no go: apt-get install golang-go golang-golang-x-mod-dev.'));
      else resolve({ failed: error !== null, out: `${out}${err}` });
    });
  });
}
