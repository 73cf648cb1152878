import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { approvalDetail, parseApprovalDetail } from '../../../domain/approvals/approval.ts';
import { parseSays } from '../../../domain/approvals/person-says.ts';
import { isRecordedSays } from '../../../domain/approvals/recorded-says.ts';

const hex = (text: string) => createHash('sha256').update(text).digest('hex');
const SALT = 's'.repeat(43);

describe('The line of a no', () => {
  it('is trimmed, and has at most 200 UTF-16 units: format characters are kept as they are', () => {
    const kept = ['x', 'x'.repeat(200), '😀'.repeat(100), 'a\u202eb\u200bc', 'عربي', '»«', '<b>'];
    for (const line of kept) expect(parseSays(` \n${line}\t`), line).to.equal(line);
  });

  it('is no line if it is blank', () => {
    for (const blank of ['', '   ', '\n\t', '\u200b\u2800', '\ufeff']) expect(parseSays(blank)).to.equal('');
  });

  it('is refused if it is longer, or has a control character or half of a surrogate pair', () => {
    for (const line of ['x'.repeat(201), '😀'.repeat(101), 'a\nb', 'a\u0000', 'a\u0085b', 'a\tb', '\ud800', '\u0007']) {
      expect(parseSays(line), JSON.stringify(line)).to.equal(undefined);
    }
  });

  it('has the hash of the record only with its salt and as a whole; without a line the record has none', () => {
    const hash = hex(`${SALT}Not now`);
    const is = (salt: string, text: string) => isRecordedSays(hex, { salt, text }, hash);
    expect([is(SALT, 'Not now'), isRecordedSays(hex, undefined, undefined)]).to.deep.equal([true, true]);
    const others = [
      is(SALT, 'Not now.'),
      is(`${SALT}N`, 'ot now'),
      is('', `${SALT}Not now`),
      is('t'.repeat(43), 'Not now'),
    ];
    const missing = [
      isRecordedSays(hex, undefined, hash),
      isRecordedSays(hex, { salt: SALT, text: 'Not now' }, undefined),
    ];
    expect(new Set([...others, ...missing])).to.deep.equal(new Set([false]));
  });

  it('follows the other parts of the detail; without a line the detail is as before', () => {
    const named = { approvalId: `approval_${'0'.repeat(26)}`, digest: 'd'.repeat(43), commitment: 'c'.repeat(64) };
    const before = `approval=${named.approvalId}&digest=${named.digest}&commitment=${named.commitment}`;
    const saysHash = hex('x');
    expect(approvalDetail(named)).to.equal(before);
    expect(parseApprovalDetail(before)).to.deep.equal(named);
    expect(approvalDetail({ ...named, saysHash })).to.equal(`${before}&says=${saysHash}`);
    expect(parseApprovalDetail(`${before}&says=${saysHash}`)).to.deep.equal({ ...named, saysHash });
    for (const wrong of [`${before}&says=`, `${before}&says=${'A'.repeat(64)}`, `${before}&says=${saysHash}&x=1`]) {
      expect(parseApprovalDetail(wrong)).to.equal(undefined);
    }
  });
});
