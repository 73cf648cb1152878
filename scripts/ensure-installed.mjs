/**
 * Installs the packages of package-lock.json for this Node, before a script uses them. So `npm test` works right after
 * `git clone`. This script uses no packages, and prints nothing if the installation is current.
 */

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const installed = join(root, 'node_modules');
/** Written last, so that an interrupted installation lacks it. `npm ci` deletes it with the folder. */
const stamp = join(installed, '.mandate-installed');
/** Holds the process id of a running installation. */
const lock = join(root, '.mandate', 'installing');
/** The only native package, compiled for a platform and an ABI of Node. If compiling fails, npm continues without it. */
const NATIVE = 'better-sqlite3';
const POLL_MS = 500;
/** Compiling takes a minute or two on a small machine. An installation that takes this long hangs. */
const WAIT_MS = 15 * 60 * 1000;

/** A problem that the user must solve. Only its message is printed. */
class Refusal extends Error {}

try {
  ensureInstalled();
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  say(error.message);
  process.exitCode = 1;
}

function ensureInstalled() {
  refuseOldNode();
  const wanted = fingerprint();
  if (readText(stamp) === wanted) return;
  takeLock();
  try {
    // The process that held the lock may have completed the installation.
    if (readText(stamp) === wanted) return;
    if (!fits()) install();
    mkdirSync(installed, { recursive: true });
    writeFileSync(`${stamp}.new`, wanted);
    renameSync(`${stamp}.new`, stamp);
  } finally {
    rmSync(lock, { force: true });
  }
}

function refuseOldNode() {
  const [major = 0, minor = 0] = /(\d+)\.(\d+)/.exec(readJson('package.json').engines.node)?.slice(1).map(Number) ?? [];
  const [ourMajor = 0, ourMinor = 0] = process.versions.node.split('.').map(Number);
  if (ourMajor < major || (ourMajor === major && ourMinor < minor)) {
    throw new Refusal(`Mandate needs Node ${major}.${minor} or newer; this is ${process.versions.node}.`);
  }
}

/** A hash of everything that an installation depends on. */
function fingerprint() {
  const machine = `${process.platform} ${process.arch} ${process.versions.modules}`;
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .update(machine)
    .digest('hex');
}

/** Whether the installed packages fit already, for example after `npm ci`. npm keeps a list of what it installed. */
function fits() {
  const account = readText(join(installed, '.package-lock.json'));
  if (account === undefined) return false;
  const present = JSON.parse(account).packages;
  const asked = Object.entries(readJson('package-lock.json').packages).filter(([path]) =>
    path.startsWith('node_modules/'),
  );
  const complete = asked.every(([path, { version, integrity, link, optional }]) =>
    present[path] === undefined
      ? optional
      : link || [present[path].version, present[path].integrity].join() === [version, integrity].join(),
  );
  return complete && nativeLoads();
}

function nativeLoads() {
  if (readJson('package-lock.json').packages[`node_modules/${NATIVE}`] === undefined) return true;
  try {
    const Database = createRequire(join(root, 'package.json'))(NATIVE);
    new Database(':memory:').close();
    return true;
  } catch {
    return false;
  }
}

function install() {
  say(`Installing packages (npm ci). If no binary of ${NATIVE} can be downloaded, it is compiled: about two minutes.`);
  // Under NODE_ENV=production npm would skip the packages for tests and builds.
  const options = ['ci', '--include=dev', '--no-audit', '--no-fund'];
  // Under `npm run`, uses the same npm. Its output goes to stderr, because stdout belongs to the script that follows.
  const npm = process.env.npm_execpath ?? '';
  const stdio = ['ignore', 2, 2];
  const result = /npm-cli\.c?js$/.test(npm)
    ? spawnSync(process.execPath, [npm, ...options], { cwd: root, stdio })
    : spawnSync('npm', options, { cwd: root, stdio, shell: process.platform === 'win32' });
  if (result.status !== 0)
    throw new Refusal(`npm ci failed (${result.error?.code ?? result.signal ?? `exit code ${result.status}`}).`);
  if (!nativeLoads()) {
    throw new Refusal(
      `${NATIVE} cannot be loaded after npm ci: is there no C++ compiler, or are npm's install scripts disabled?`,
    );
  }
}

function takeLock() {
  mkdirSync(join(root, '.mandate'), { recursive: true });
  const deadline = Date.now() + WAIT_MS;
  for (let told = false; ; ) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const holder = Number(readText(lock));
    // The file is empty while another process writes it.
    if (holder > 0 && !isAlive(holder)) {
      rmSync(lock, { force: true });
      continue;
    }
    if (Date.now() > deadline)
      throw new Refusal(
        `Another installation (process ${holder}) does not end. If there is no such process, remove ${lock}`,
      );
    if (!told) say(`Waiting for another installation (process ${holder}).`);
    told = true;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
  }
}

function isAlive(process_id) {
  try {
    process.kill(process_id, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function readText(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function readJson(name) {
  return JSON.parse(readFileSync(join(root, name), 'utf8'));
}

function say(sentence) {
  process.stderr.write(`${sentence}\n`);
}
