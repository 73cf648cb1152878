/**
 * Ports that are implemented in another thread. What they look like comes from there too, so that a port which is added
 * there needs nothing here.
 */

type AnyFunction = (...given: never[]) => unknown;

/**
 * What is left of `Part` when it is asked from another thread: methods that take data and answer later, data, and parts
 * with these. A method that could not be asked so has a type that nothing fits.
 */
export type Remote<Part> = {
  readonly [Name in keyof Part]: Part[Name] extends (...given: infer Given) => infer Answer
    ? [Extract<Given[number], AnyFunction>, Answer] extends [never, Promise<unknown>]
      ? Part[Name]
      : never
    : Part[Name] extends object
      ? Remote<Part[Name]>
      : Part[Name];
};

/** Of each member: whether it is a method, a part with members of its own, or data. */
export interface Shape {
  readonly [name: string]:
    | { readonly kind: 'method' }
    | { readonly kind: 'part'; readonly shape: Shape }
    | { readonly kind: 'data'; readonly value: unknown };
}

export type Method = (...given: readonly unknown[]) => unknown;

export function shapeOf(part: object): Shape {
  return Object.fromEntries(
    Object.entries(part).map(([name, member]) => {
      if (typeof member === 'function') return [name, { kind: 'method' }];
      if (typeof member === 'object' && member !== null) return [name, { kind: 'part', shape: shapeOf(member) }];
      return [name, { kind: 'data', value: member }];
    }),
  );
}

/** Every method by its name with dots. */
export function methodsOf(part: object, prefix = ''): ReadonlyMap<string, Method> {
  const methods = new Map<string, Method>();
  for (const [name, member] of Object.entries(part)) {
    if (typeof member === 'function') methods.set(prefix + name, member);
    else if (typeof member === 'object' && member !== null) {
      for (const [inner, method] of methodsOf(member, `${prefix}${name}.`)) methods.set(inner, method);
    }
  }
  return methods;
}

type Call = (name: string, given: readonly unknown[]) => Promise<unknown>;

/** @param shape of a `Part`, as `shapeOf` answered it over there */
export function remote<Part>(shape: Shape, call: Call, prefix = ''): Remote<Part> {
  const members = Object.entries(shape).map(([name, member]) => [name, remoteMember(member, call, prefix + name)]);
  // What a shape is of is only known to whoever asks: no type travels between threads.
  return Object.fromEntries(members) as Remote<Part>;
}

function remoteMember(member: Shape[string], call: Call, name: string): unknown {
  switch (member.kind) {
    case 'method':
      return (...given: readonly unknown[]) => call(name, given);
    case 'part':
      return remote(member.shape, call, `${name}.`);
    case 'data':
      return member.value;
  }
}
