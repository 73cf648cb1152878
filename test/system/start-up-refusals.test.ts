/** `mandate serve` refuses every configuration of the table, names the wrong settings, and prints no value. */

import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { serve } from '../../composition/commands/serve.ts';
import { variableOf } from '../../composition/settings/startup-error.ts';
import { environment, startable, type Texts } from '../composition/settings/sources.ts';
import { type WrongConfiguration, wrongConfigurations } from '../composition/settings/wrong-configurations.ts';
import { capturingOutput, withEnvironment } from '../support/captured-output.ts';

/** Values that a refusal may contain, because the specification has the same words. */
const WORDS = new Set([
  'poll',
  'signals',
  'postgres',
  'sqlite',
  'development',
  'externalId',
  'userName',
  'mandate',
  'true',
]);

/** The folder of a key file, and valid settings with that file. */
let folder: string;
const standing = (): Texts => ({ ...startable, 'Service:Signing:Keys:0:Path': join(folder, 'key.pem') });

function start({ changes, overrides = [] }: Pick<WrongConfiguration, 'changes' | 'overrides'>) {
  const settings = environment({ ...standing(), ...changes });
  return capturingOutput(() => withEnvironment(settings, () => serve(overrides)));
}

/** The values of settings that the text contains. */
function repeated(said: string, { changes, overrides = [] }: WrongConfiguration): readonly string[] {
  const values = [...Object.values({ ...standing(), ...changes }), ...overrides.map(({ value }) => value)];
  const telling = values.flatMap((value) => value?.split('\n') ?? []).filter((value) => value.trim().length > 2);
  return telling.filter((value) => !WORDS.has(value) && said.includes(value));
}

describe('mandate serve', () => {
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-refusals-'));
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    writeFileSync(join(folder, 'key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  });
  after(() => rmSync(folder, { recursive: true }));

  it('gets past its settings with the valid settings that the table changes, and stops at the missing key file', async () => {
    const { result, err } = await start({ changes: startable });
    expect(result).to.equal(1);
    expect(err).to.match(/^mandate: Service:Signing:Keys:0:Path \(\S+\) names no file\..*\n$/);
  });

  it('is tested with at least 150 different wrong configurations', () => {
    const kinds = new Set(
      wrongConfigurations.map(({ changes, overrides }) =>
        JSON.stringify([changes, overrides], (_, value) => value ?? null),
      ),
    );
    expect(kinds.size).to.equal(wrongConfigurations.length).and.least(150);
  });

  it('names an unknown setting and suggests the nearest name, in addition to an invalid one', async () => {
    const changes = { 'Service:UpstreamIdp:Audience': undefined, 'Service:UpstreamIdp:Audiense': 'zq7-recognised' };
    const { result, out, err } = await start({ changes });
    expect(result).to.equal(1);
    expect(err).to.match(/^mandate: Service:UpstreamIdp:Audience \(\S+\) is required\./);
    expect(JSON.parse(out)).to.deep.include({
      level: 'warn',
      message:
        'Service__UpstreamIdp__Audiense is not a setting of this service and is ignored. Did you mean Service__UpstreamIdp__Audience?',
    });
    expect(`${out}${err}`).not.to.contain('zq7');
  });

  for (const wrong of wrongConfigurations) {
    it(`refuses ${wrong.title}`, async () => {
      const { result, out, err } = await start(wrong);
      expect([result, out]).to.deep.equal([1, '']);
      const lines = err.trimEnd().split('\n');
      const named = lines.map((line) => {
        const [, key = '', variable = key] = /^mandate: (\S+)(?: \((\S+)\))? .+\. Accepted: .+\.$/.exec(line) ?? [];
        expect(variable, line).to.equal(variableOf(key));
        return key;
      });
      expect([...new Set(named)].toSorted()).to.deep.equal([...wrong.names].toSorted());
      expect(repeated(`${out}${err}`, wrong)).to.deep.equal([]);
    });
  }
});
