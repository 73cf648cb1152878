/** Imports `oidc-provider` without its warning about Node 20. The library works on Node 20. */

type Library = typeof import('oidc-provider');

const BANNER = 'oidc-provider WARNING: Unsupported runtime';

let library: Promise<Library> | undefined;

export function providerLibrary(): Promise<Library> {
  library ??= loadQuietly();
  return library;
}

async function loadQuietly(): Promise<Library> {
  const warn = console.warn;
  console.warn = (...args: readonly unknown[]) => {
    if (!(typeof args[0] === 'string' && args[0].includes(BANNER))) {
      warn(...args);
    }
  };
  try {
    return await import('oidc-provider');
  } finally {
    console.warn = warn;
  }
}
