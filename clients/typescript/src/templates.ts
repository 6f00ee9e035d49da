import { isText, type Value } from "./record.js";

type Part = { text: string; path?: string; or?: string | undefined };
/** Parses a template: texts, {path} and {path|text}. Doubled braces are literal braces. */
export function partsOf(template: string): readonly Part[] {
  const parts: Part[] = [];
  for (const [token, path, or] of template.matchAll(/\{\{|\}\}|\{([^}|]*)(?:\|([^}]*))?\}|[^{}]+/g)) {
    const last = parts.at(-1);
    const text = /^[{}]/.test(token) ? token.charAt(0) : token;
    if (path !== undefined) parts.push({ text: "", path, or });
    else if (last && last.path === undefined) last.text += text;
    else parts.push({ text });
  }
  return parts;
}
const isSentence = (path: string | undefined): boolean => path === "message" || path === "message:given";
/** Says whether a template contains the sentence of a failure unchanged. */
export const frames = (template: string): boolean => partsOf(template).some((p) => isSentence(p.path));

/** Returns the text of a template without placeholders. */
export function literalOf(template: string): string | undefined {
  const parts = partsOf(template);
  return parts.some((p) => p.path !== undefined) ? undefined : parts.map((p) => p.text).join("");
}

/** Fills a template in; undefined if a placeholder without a default text is empty. */
export function render(template: string, valueOf: (path: string) => Value): string | undefined {
  const texts = partsOf(template).map((p) => {
    const value = p.path === undefined ? p.text : valueOf(p.path);
    return value === undefined ? p.path && p.or : spell(value);
  });
  const one = template.includes(":seconds} seconds") ? /\b1 seconds/ : undefined;
  return texts.includes(undefined) ? undefined : one ? texts.join("").replace(one, "1 second") : texts.join("");
}
const spell = (value: Value): string =>
  Array.isArray(value) ? value.map(spell).join(", ") : isText(value) ? value : JSON.stringify(value);

/** Parses a text that a template may have written; undefined if it has another form. */
export function match(template: string, text: string): readonly [path: string, text: string][] | undefined {
  const parts = partsOf(template);
  const found: [string, string][] = [];
  for (const [i, p] of parts.entries()) {
    const next = parts[i + 1];
    let end = text.length;
    if (p.path === undefined) end = text.startsWith(p.text) ? p.text.length : -1;
    else if (next && i + 2 < parts.length && !isSentence(p.path)) end = text.indexOf(next.text);
    else if (next) end = text.lastIndexOf(next.text);
    if (end < 0 || (p.path !== undefined && next?.path !== undefined)) return undefined;
    if (p.path !== undefined && text.slice(0, end) !== p.or) found.push([p.path, text.slice(0, end)]);
    text = text.slice(end);
  }
  return text === "" ? found : undefined;
}
