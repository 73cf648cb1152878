/** One setting as the catalogue declares it. */

import type { ValueType } from './value-type.ts';

/**
 * - `required`: the service does not start without it.
 * - `optional`: may stay unset; a rule may still require it together with other settings.
 * - `defaulted`: has a fixed default.
 * - `computed`: has a default that depends on other settings or on the machine (settings.ts).
 */
type Presence = 'required' | 'optional' | 'defaulted' | 'computed';

export interface Setting<Value = unknown, P extends Presence = Presence> {
  readonly presence: P;
  readonly type: ValueType<Value>;
  /** Sentences in Markdown, for the settings table. */
  readonly meaning: string;
  /** The default as an operator would write it; for a computed one, the settings that it depends on. */
  readonly default: string | undefined;
}

export function required<Value>(type: ValueType<Value>, meaning: string): Setting<Value, 'required'> {
  return { presence: 'required', type, meaning, default: undefined };
}

export function optional<Value>(type: ValueType<Value>, meaning: string): Setting<Value, 'optional'> {
  return { presence: 'optional', type, meaning, default: undefined };
}

export function defaulted<Value>(text: string, type: ValueType<Value>, meaning: string): Setting<Value, 'defaulted'> {
  return { presence: 'defaulted', type, meaning, default: text };
}

export function computed<Value>(
  description: string,
  type: ValueType<Value>,
  meaning: string,
): Setting<Value, 'computed'> {
  return { presence: 'computed', type, meaning, default: description };
}
