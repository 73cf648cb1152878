/** The fault of a SCIM request (RFC 7644 §3.12): its code, and a fixed sentence that repeats nothing that was sent. */

export type ScimErrorCode = 'invalidValue' | 'invalidSyntax' | 'invalidFilter';

export interface ScimFault {
  readonly kind: 'invalid';
  readonly code: ScimErrorCode;
  readonly sentence: string;
}

export function scimFault(code: ScimErrorCode, sentence: string): ScimFault {
  return { kind: 'invalid', code, sentence };
}
