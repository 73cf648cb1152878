/** SHA-256 of a text's UTF-8 bytes, in lowercase hex. */
export type Digest = (text: string) => string;
