/** Compares the Dockerfile with the code. No container engine runs. */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { catalogue } from '../../composition/settings/catalogue.ts';
import { at, dockerfile, execForm, finalStage, last, stages, text } from '../support/pages/dockerfile.ts';

const run = promisify(execFile);

const { bin, files, engines } = JSON.parse(text('package.json')) as {
  bin: { mandate: string };
  files: readonly string[];
  engines: { node: string };
};
const PORT = catalogue.PORT.default;

describe('The image', () => {
  it('has only files that its user cannot write, and a user id other than root', () => {
    expect(last('USER')?.rest[0]).to.match(/^[1-9]\d*:[1-9]\d*$/);
    // A COPY after USER, or a chown, would give files to that user.
    expect(finalStage.findLastIndex(({ instruction }) => instruction === 'COPY')).to.be.lessThan(
      finalStage.findIndex(({ instruction }) => instruction === 'USER'),
    );
    expect(finalStage.map(({ line }) => line).join('\n')).not.to.match(/--chown|chown /);
  });

  it('runs the mandate command of package.json, by default with serve', () => {
    expect(execForm('ENTRYPOINT')).to.deep.equal(['node', `/app/${bin.mandate}`]);
    expect(execForm('CMD')).to.deep.equal(['serve']);
    expect(last('WORKDIR')?.rest).to.deep.equal(['/app']);
    expect(finalStage.map(({ line }) => line)).to.include(`RUN ln -s /app/${bin.mandate} /usr/local/bin/mandate`);
  });

  it('contains only the compiled code of the package and its production packages', () => {
    const copied = finalStage.filter(({ instruction }) => instruction === 'COPY').map(({ rest }) => rest.join(' '));
    const [dist] = files;
    // Clients use the OpenAPI document; the service does not read it.
    expect(files).to.deep.equal(['dist', 'adapters/http/openapi.json']);
    expect(copied).to.deep.equal([
      '--chmod=0644 package.json LICENSE ./',
      '--from=packages /build/node_modules node_modules',
      `--from=compiled /build/${dist} ${dist}`,
    ]);
    const installs = stages.map((stage) => stage.filter(({ line }) => line.includes('npm ci')).map(({ line }) => line));
    expect(installs[0]?.[0]).to.include('--omit=dev');
    expect(installs.at(-1)).to.deep.equal([]);
  });

  it('copies only existing files, every folder of compiled code, and nothing that .dockerignore excludes', () => {
    const sources = dockerfile
      .filter(({ instruction, rest }) => instruction === 'COPY' && !rest[0]?.startsWith('--from'))
      .flatMap(({ rest }) => rest.slice(0, -1).filter((word) => !word.startsWith('--')));
    const { include } = JSON.parse(text('tsconfig.build.json')) as { include: readonly string[] };
    expect(sources).to.include.members([...include, 'package.json', 'package-lock.json', 'tsconfig.build.json']);
    for (const source of sources) expect(existsSync(at(source)), source).to.equal(true);
    const [all, ...exceptions] = text('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(all).to.equal('*');
    expect(exceptions.map((line) => line.slice(1))).to.have.members([...new Set(sources)]);
  });

  it('builds and runs with the same Node, which package.json and better-sqlite3 support', () => {
    const images = dockerfile.filter(({ instruction }) => instruction === 'ARG').map(({ rest }) => rest[0] ?? '');
    const [build = '', slim = ''] = images.map((image) => image.split('=')[1] ?? '');
    expect(slim).to.equal(`${build}-slim`);
    const major = Number(/^node:(\d+)-/.exec(build)?.[1]);
    expect(major).to.be.greaterThan(Number(/\d+/.exec(engines.node)?.[0]));
    const sqlite = JSON.parse(text('node_modules/better-sqlite3/package.json')) as { engines: { node: string } };
    expect(sqlite.engines.node.split(' || ')).to.include(`${major}.x`);
  });

  it('exposes the port of the service, and checks /healthz there', async () => {
    expect(last('EXPOSE')?.rest).to.deep.equal([PORT]);
    const script = execForm('HEALTHCHECK').at(-1) ?? '';
    expect(execForm('HEALTHCHECK').slice(0, 2)).to.deep.equal(['node', '-e']);
    expect(script).to.include(`|| ${PORT}) + '/healthz'`);
    // No process listens on port 9, so the check exits with 1.
    const unhealthy = run(process.execPath, ['-e', script], { env: { PORT: '9' } });
    expect(
      await unhealthy.then(
        () => 0,
        ({ code }: { code: number }) => code,
      ),
    ).to.equal(1);
  });
});
