import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { descriptorsOf } from '../../../scripts/faults/descriptors.ts';

// Runs in a separate process, because this one may close descriptors of earlier tests at any time.
const PROGRAM = fileURLToPath(new URL('connections.mjs', import.meta.url));

describe('the descriptors of a process', () => {
  let child: ChildProcess;
  let port: number;
  before(async function () {
    if (process.platform !== 'linux') this.skip();
    child = fork(PROGRAM, { execArgv: [] });
    [port] = await once(child, 'message');
  });
  after(() => child?.kill('SIGKILL'));

  const descriptors = () => descriptorsOf(child.pid ?? 0, port);
  const message = async (text: string) => expect(await once(child, 'message')).to.deep.equal([text, undefined]);
  const connected = async () => {
    const accepted = message('connected');
    const client = connect(port, '127.0.0.1');
    await Promise.all([accepted, once(client, 'connect')]);
    return client;
  };

  it("count a connection as the client's until the client closes it", async () => {
    const before = descriptors();
    expect(before).to.include({ clients: 0 }).and.to.have.property('own').that.is.above(0);
    const [first, second] = [await connected(), await connected()];
    expect(descriptors()).to.deep.equal({ clients: 2, own: before.own });
    const left = message('left');
    first.destroy();
    await Promise.all([left, once(first, 'close')]);
    expect(descriptors()).to.deep.equal({ clients: 1, own: before.own + 1 });
    second.destroy();
  });
});
