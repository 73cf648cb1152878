/**
 * Makes sure that node_modules is what package-lock.json asks for, built for this Node, before anything is run from
 * it: `npm test` works right after `git clone`. It needs nothing itself, and says nothing when there is nothing to do.
 */

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const installed = join(root, 'node_modules');
/** Written last, so that an installation that was interrupted has none; `npm ci` clears it away with everything else. */
const stamp = join(installed, '.mandate-installed');
/** Holds the process id of whoever is installing. */
const lock = join(root, '.mandate', 'installing');
/** The one package that is machine code: compiled for one platform and one binary interface of Node. */
const NATIVE = 'better-sqlite3';
const POLL_MS = 500;
/** Compiling takes a minute or two on a small machine; whoever takes this long is stuck. */
const WAIT_MS = 15 * 60 * 1000;

/** What the person who ran this has to see to. */
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
    // Whoever held the lock may have done it.
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

/** What an installation depends on. */
function fingerprint() {
  const machine = `${process.platform} ${process.arch} ${process.versions.modules}`;
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .update(machine)
    .digest('hex');
}

/** Whether somebody has installed exactly this by hand. npm keeps its own account of what it put there. */
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
  say(
    `Installing packages (npm ci). Where ${NATIVE} cannot be downloaded ready-made it is compiled: about two minutes.`,
  );
  // A production environment would leave out what tests and builds need.
  const options = ['ci', '--include=dev', '--no-audit', '--no-fund'];
  // Under `npm run`, the same npm; its output goes to stderr, because stdout belongs to what was asked for.
  const npm = process.env.npm_execpath ?? '';
  const stdio = ['ignore', 2, 2];
  const result = /npm-cli\.c?js$/.test(npm)
    ? spawnSync(process.execPath, [npm, ...options], { cwd: root, stdio })
    : spawnSync('npm', options, { cwd: root, stdio, shell: process.platform === 'win32' });
  if (result.status !== 0)
    throw new Refusal(`npm ci failed (${result.error?.code ?? result.signal ?? `exit code ${result.status}`}).`);
  if (!nativeLoads()) {
    throw new Refusal(`${NATIVE} was installed but cannot be loaded: is npm kept from running install scripts?`);
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
    // Empty while it is being written.
    if (holder > 0 && !isAlive(holder)) {
      rmSync(lock, { force: true });
      continue;
    }
    if (Date.now() > deadline)
      throw new Refusal(
        `Another installation (process ${holder}) does not come to an end. If it is none, remove ${lock}`,
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
