/** Whether JSON.parse accepts the text. It also accepts names that are there twice, which `parseStrictJson` refuses. */
export function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
