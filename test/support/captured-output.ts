/** Captures the output of a command that runs in this process. */

interface CapturedOutput<Result> {
  readonly result: Result;
  readonly out: string;
  readonly err: string;
}

/** While `run` runs, no other code may write to the standard streams. */
export async function capturingOutput<Result>(run: () => Promise<Result>): Promise<CapturedOutput<Result>> {
  const [out, err]: [string[], string[]] = [[], []];
  const release = [keep(process.stdout, out), keep(process.stderr, err)];
  try {
    const result = await run();
    return { result, out: out.join(''), err: err.join('') };
  } finally {
    for (const each of release) each();
  }
}

function keep(stream: NodeJS.WriteStream, into: string[]): () => void {
  const { write } = stream;
  const listeners = stream.listeners('error');
  stream.write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
    into.push(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
    for (const argument of rest) if (typeof argument === 'function') process.nextTick(argument);
    return true;
  };
  return () => {
    stream.write = write;
    // A command keeps its error listeners until its process ends, so they are removed here.
    for (const listener of stream.listeners('error')) {
      if (!listeners.includes(listener)) stream.off('error', listener as () => void);
    }
  };
}

/** Runs `run` with only these environment variables and PATH. */
export async function withEnvironment<Result>(
  variables: Readonly<Record<string, string | undefined>>,
  run: () => Promise<Result>,
): Promise<Result> {
  const before = process.env;
  process.env = { PATH: before.PATH };
  for (const [name, value] of Object.entries(variables)) if (value !== undefined) process.env[name] = value;
  try {
    return await run();
  } finally {
    process.env = before;
  }
}
