import { expect } from 'chai';
import { formatTraceparent, parseTraceparent } from '../../domain/trace-context.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const sampled = { traceId: TRACE, spanId: PARENT, isSampled: true };
const unsampled = { traceId: TRACE, spanId: PARENT, isSampled: false };

const accepted: readonly (readonly [title: string, header: string, parsed: object])[] = [
  ['that is sampled', `00-${TRACE}-${PARENT}-01`, sampled],
  ['that is not sampled', `00-${TRACE}-${PARENT}-00`, unsampled],
  ['with undefined flags', `00-${TRACE}-${PARENT}-fe`, unsampled],
  ['with undefined flags beside the sampled flag', `00-${TRACE}-${PARENT}-ff`, sampled],
  ['of a later version that is as long', `cc-${TRACE}-${PARENT}-01`, sampled],
  ['of a later version that goes on behind a dash', `01-${TRACE}-${PARENT}-01-what-will-be`, sampled],
  ['of a later version that ends with a dash', `01-${TRACE}-${PARENT}-01-`, sampled],
];

const ignored: readonly (readonly [title: string, header: string])[] = [
  ['of version ff', `ff-${TRACE}-${PARENT}-01`],
  ['of version 00 that goes on', `00-${TRACE}-${PARENT}-01-more`],
  ['of version 00 that ends with a dash', `00-${TRACE}-${PARENT}-01-`],
  ['of a later version that goes on without a dash', `01-${TRACE}-${PARENT}-01more`],
  ['with a third digit of flags', `00-${TRACE}-${PARENT}-011`],
  ['whose trace id is all zeros', `00-${'0'.repeat(32)}-${PARENT}-01`],
  ['whose parent id is all zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['in uppercase digits', `00-${TRACE.toUpperCase()}-${PARENT}-01`],
  ['with a version in uppercase', `0A-${TRACE}-${PARENT}-01`],
  ['with a trace id too short', `00-${TRACE.slice(1)}-${PARENT}-01`],
  ['with a trace id too long', `00-0${TRACE}-${PARENT}-01`],
  ['with a parent id too short', `00-${TRACE}-${PARENT.slice(1)}-01`],
  ['with one digit of flags', `00-${TRACE}-${PARENT}-1`],
  ['with no flags', `00-${TRACE}-${PARENT}`],
  ['with other separators', `00_${TRACE}_${PARENT}_01`],
  ['with space before it', ` 00-${TRACE}-${PARENT}-01`],
  ['with space after it', `00-${TRACE}-${PARENT}-01 `],
  ['with a line after it', `00-${TRACE}-${PARENT}-01\n`],
  ['with letters beyond f', `00-${TRACE.replace('4', 'g')}-${PARENT}-01`],
  ['that is two', `00-${TRACE}-${PARENT}-01,00-${TRACE}-${PARENT}-01`],
  ['that is empty', ''],
];

describe('traceparent (W3C Trace Context §3.2)', () => {
  for (const [title, header, parsed] of accepted) {
    it(`a header ${title} is read`, () => expect(parseTraceparent(header)).to.deep.equal(parsed));
  }
  for (const [title, header] of ignored) {
    it(`a header ${title} is treated as missing`, () => expect(parseTraceparent(header)).to.equal(undefined));
  }

  it("is sent on in version 00, with the service's span as the parent and only the sampled flag", () => {
    const spanId = 'b7ad6b7169203331';
    expect(formatTraceparent({ ...sampled, spanId })).to.equal(`00-${TRACE}-${spanId}-01`);
    expect(formatTraceparent({ ...unsampled, spanId })).to.equal(`00-${TRACE}-${spanId}-00`);
    expect(parseTraceparent(formatTraceparent({ ...sampled, spanId }))).to.deep.equal({ ...sampled, spanId });
  });
});
