/** Patterns of paths. A part `:name` stands for one segment. */

/** The address of a pattern, with its parameters encoded. */
export function fillPath(pattern: string, parameters: Readonly<Record<string, unknown>>): string {
  return pattern.replace(/:(\w+)/g, (_part, name) => encodeURIComponent(String(parameters[name] ?? '')));
}

/** The parameters of an address that has the pattern. */
export function parametersOf(pattern: string, address: string): Readonly<Record<string, string>> {
  const { pathname } = new URL(address, 'http://pages.invalid');
  const segments = pathname.split('/');
  return Object.fromEntries(
    pattern
      .split('/')
      .flatMap((part, nth) => (part.startsWith(':') ? [[part.slice(1), decodeURIComponent(segments[nth] ?? '')]] : [])),
  );
}

export function matcherOf(pattern: string): RegExp {
  return new RegExp(`^${pattern.replaceAll(/:\w+/g, '[^/]+')}$`);
}
