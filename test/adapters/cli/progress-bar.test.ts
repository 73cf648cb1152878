import { expect } from 'chai';
import { progressBar } from '../../../adapters/cli/progress-bar.ts';

describe('The progress bar', () => {
  function terminal(isTTY: boolean | undefined, columns = 19) {
    const written: string[] = [];
    return { written, columns, write: (text: string) => written.push(text), ...(isTTY === undefined ? {} : { isTTY }) };
  }

  it('writes nothing at all where nobody looks, as in a pipe', () => {
    for (const isTTY of [false, undefined]) {
      const pipe = terminal(isTTY);
      const bar = progressBar(pipe, () => 0);
      bar.show(1, 2);
      bar.clear();
      expect(pipe.written).to.deep.equal([]);
    }
  });

  it('shows the share on a terminal, within its width, and leaves the line empty', () => {
    const shown = terminal(true);
    const bar = progressBar(shown, () => 0);
    bar.show(1, 4);
    bar.clear();
    expect(shown.written).to.deep.equal(['\r\u001b[K 25 % ██░░░░░░░░', '\r\u001b[K']);
  });

  it('is drawn ten times a second at most, and never beyond its end', () => {
    let now = 0;
    const shown = terminal(true);
    const bar = progressBar(shown, () => now);
    bar.show(1, 4);
    now = 99;
    bar.show(2, 4);
    now = 100;
    bar.show(9, 4);
    expect(shown.written).to.deep.equal(['\r\u001b[K 25 % ██░░░░░░░░', '\r\u001b[K100 % ██████████']);
  });

  it('says nothing of nothing', () => {
    const shown = terminal(true);
    const bar = progressBar(shown, () => 0);
    bar.show(0, 0);
    bar.clear();
    expect(shown.written).to.deep.equal([]);
  });
});
