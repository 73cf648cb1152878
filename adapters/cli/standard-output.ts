/**
 * Standard output of a command. A failed write, for example to `/dev/full`, is reported as an error, never as a stack
 * trace.
 */

export class OutputLost extends Error {
  override readonly name = 'OutputLost';
}

export const REPORT_LOST = 'The report could not be written to standard output.';

/** Watches standard output during a command's report; returns whether the report was lost. */
export function watchReport(): () => Promise<boolean> {
  let isLost = false;
  process.stdout.on('error', (error) => {
    // A reader that closes the pipe early (`| head -1`) does not count as a lost report.
    if (!('code' in error && error.code === 'EPIPE')) isLost = true;
  });
  return async () => {
    await new Promise((written) => process.stdout.write('', written));
    return isLost;
  };
}

/** Writes a whole report. Resolves when standard output has taken it, or its reader has left. @throws OutputLost */
export async function writeReport(text: string): Promise<void> {
  const isReportLost = watchReport();
  process.stdout.write(text);
  if (await isReportLost()) throw new OutputLost(REPORT_LOST);
}

/** Resolves when standard output has taken the text. @throws OutputLost */
export function writeOutput(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => {
      if (error) reject(new OutputLost('The text was not written.', { cause: error }));
      else resolve();
    });
  });
}
