/** The three readers of evidence judge hostile bundles and policies alike: the command, the library and the page. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { verifyBundle } from '../../adapters/sdk/audit/audit.ts';
import { auditVerify } from '../../composition/commands/audit-verify.ts';
import { capturingOutput } from '../support/captured-output.ts';
import { verifyOnPage } from '../support/log/evidence-page.ts';
import { forgedBundle } from '../support/log/forged-bundle.ts';
import { hostileBundles, hostilePolicies } from '../support/log/hostile-evidence.ts';

const CONSISTENT = 'Consistent, signed with keys that the bundle itself brings';

describe('Hostile evidence', function () {
  this.timeout(60_000);
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-hostile-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** `audit-verify --bundle`, in this process. */
  async function verifyFiles(bundle: string | Uint8Array, policy?: string | Uint8Array, json = false) {
    const paths = { bundle: join(folder, 'bundle'), policy: policy === undefined ? undefined : join(folder, 'policy') };
    writeFileSync(paths.bundle, bundle);
    if (paths.policy !== undefined) writeFileSync(paths.policy, policy ?? '');
    const { result, out, err } = await capturingOutput(() =>
      auditVerify({ subject: { kind: 'bundle', ...paths }, json }, []),
    );
    return { code: result, out, err };
  }

  for (const { title, text, fault } of hostileBundles) {
    it(`${fault === undefined ? 'agrees with itself' : 'is refused'} in all readers: ${title}`, async () => {
      const [library, page] = [await verifyBundle(text), await verifyOnPage(text)];
      const file = JSON.parse((await verifyFiles(text, undefined, true)).out);
      const report = await verifyFiles(text);
      if (fault === undefined) {
        for (const verdict of [library, page])
          expect(verdict).to.include({ verified: true, message: `${CONSISTENT}.`, further: 0 });
        expect(page.questions).to.deep.equal('questions' in library ? library.questions : undefined);
        expect(file).to.include({ intact: null, verified_with: 'bundle_keys' });
        expect(report.code).to.equal(0);
        expect(report.out.startsWith(`${CONSISTENT}: 1 record in 1 checkpoint`)).to.equal(true);
        expect(report.out).not.to.match(/intact/i);
        return;
      }
      const [kind, line] = fault;
      for (const verdict of [library, page]) expect(verdict).to.include({ verified: false, fault: kind, line });
      expect(file.fault).to.include({ kind, line });
      expect(report.code).to.equal(3);
    });
  }

  for (const { title, text, isPolicy } of hostilePolicies) {
    it(`${isPolicy ? 'is a policy' : 'is refused as a policy'} in all readers: ${title}`, async () => {
      const bundle = forgedBundle({});
      const library = await verifyBundle(bundle, { policy: text }).catch((error: unknown) => error);
      const [page, file] = [await verifyOnPage(bundle, text), await verifyFiles(bundle, text)];
      // No key of the bundle is one of the policy.
      if (isPolicy) {
        for (const verdict of [library, page]) expect(verdict).to.include({ verified: false, fault: 'policy' });
        expect(library).to.have.property('message', page.message);
        expect(file.code).to.equal(3);
        return;
      }
      expect(library).to.be.instanceOf(TypeError);
      expect(page).to.include({ verified: false, fault: 'policy_malformed' });
      expect({ code: file.code, out: file.out }).to.deep.equal({ code: 1, out: '' });
    });
  }

  it('is refused as a file if a byte of it is no UTF-8: the byte must not read as another one', async () => {
    // U+FFFD is what a lenient reader makes of the byte, so all hashes fit.
    const text = forgedBundle({ record: { sponsor: 'a\ufffd' } });
    expect(await verifyBundle(text)).to.include({ verified: true });
    const at = Buffer.from(text).indexOf(Buffer.from('\ufffd'));
    const bytes = Buffer.concat([
      Buffer.from(text).subarray(0, at),
      Buffer.of(0xff),
      Buffer.from(text).subarray(at + 3),
    ]);
    const { code, out } = await verifyFiles(bytes);
    expect({ code, out }).to.deep.equal({
      code: 3,
      out: 'The bundle is not intact.\nThe text of the file is not UTF-8.\n',
    });
    const policy = Buffer.concat([Buffer.from(`{"checkpoint_keys":["${'A'.repeat(43)}"]}`), Buffer.of(0xff)]);
    const refused = await verifyFiles(text, policy);
    expect(refused).to.deep.equal({
      code: 1,
      out: '',
      err: 'mandate: --policy names a file whose text is not UTF-8.\n',
    });
  });
});
