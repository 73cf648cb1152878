import { expect } from 'chai';
import { progressBar } from '../../../adapters/cli/progress-bar.ts';

describe('The progress bar', () => {
  function terminal(isTTY: boolean | undefined, columns = 19) {
    const written: string[] = [];
    return { written, columns, write: (text: string) => written.push(text), ...(isTTY === undefined ? {} : { isTTY }) };
  }

  it('writes nothing to a pipe', () => {
    for (const isTTY of [false, undefined]) {
      const pipe = terminal(isTTY);
      const bar = progressBar(pipe, () => 0);
      bar.show(1, 2);
      bar.clear();
      expect(pipe.written).to.deep.equal([]);
    }
  });

  it('shows the percentage within the width of the terminal, and clears its line', () => {
    const shown = terminal(true);
    const bar = progressBar(shown, () => 0);
    bar.show(1, 4);
    bar.clear();
    expect(shown.written).to.deep.equal(['\r\u001b[K 25 % ██░░░░░░░░', '\r\u001b[K']);
  });

  it('is drawn at most ten times a second, and never over 100 %', () => {
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

  it('writes nothing when there is nothing to do', () => {
    const shown = terminal(true);
    const bar = progressBar(shown, () => 0);
    bar.show(0, 0);
    bar.clear();
    expect(shown.written).to.deep.equal([]);
  });
});
