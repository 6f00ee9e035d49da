// ---- What answers tell of writes, items and work.

/** Returns the data of a tool result: its structured content, or the JSON of its first text. */
function dataOf(result: unknown): Value {
  const r = copyOfEach(result);
  return isObject(r["structuredContent"]) ? r["structuredContent"] : parsed(textOr(fieldsOr(listOr(r["content"])[0])["text"]));
}

/** Says whether a write has landed, by the data of the verify call; undefined where that is open. */
function hasLanded(rule: Landed, args: Arguments, data: Value): boolean | undefined {
  if (data === undefined) return rule.exists === undefined ? undefined : !rule.exists;
  const tokens = (pointer: string): string[] => pointer.split("/").slice(1).map((t) => t.replaceAll("~1", "/").replaceAll("~0", "~"));
  const { found, reached } = find(data, tokens(rule.path));
  if (rule.exists !== undefined) return reached ? found.length > 0 === rule.exists : undefined;
  const want = rule.pointer === undefined ? (rule.is as Value) : find(copyOf(args), tokens(rule.pointer)).found[0];
  if (want === undefined || !reached || (!rule.contains && found.length === 0)) return undefined;
  return found.some((value) => same(value, want) || (rule.contains === true && holdsValue(value, want)));
}

/** Returns what a path leads to, other than null; reached says that all but its end is there. */
function find(value: Value, path: readonly string[]): { readonly found: Value[]; readonly reached: boolean } {
  const [token, ...rest] = path;
  if (token === undefined) return { found: value === null || value === undefined ? [] : [value], reached: true };
  if (Array.isArray(value)) {
    if (token !== "*") {
      if (!/^-?\d+$/.test(token)) return { found: [], reached: false };
      return Number(token) in value ? find(value[Number(token)], rest) : { found: [], reached: true };
    }
    const found = value.flatMap((inner) => find(inner, rest).found);
    return { found, reached: value.length === 0 || found.length > 0 };
  }
  if (isObject(value) && Object.hasOwn(value, token)) return find(value[token], rest);
  return { found: [], reached: isObject(value) && rest.length === 0 };
}

const canonical = (v: Value): string => JSON.stringify(v, (_, inner: Value) => (isObject(inner) ? sorted(inner) : inner));
const same = (a: Value, b: Value): boolean => canonical(a) === canonical(b);

/** Says whether a text holds another, a list an item, or an object the members of another. */
function holdsValue(value: Value, want: Value): boolean {
  if (typeof value === "string") return typeof want === "string" && value.includes(want);
  if (Array.isArray(value)) return value.some((item) => same(item, want) || (isObject(item) && holdsValue(item, want)));
  return isObject(value) && isObject(want) && Object.entries(want).every(([name, v]) => same(own(value, name), v));
}

/** Returns the id of an item: itself, or its member "id". */
function idOf(item: Value): string {
  const id = isObject(item) ? (item["id"] ?? item) : item;
  return textOr(id) || JSON.stringify(id);
}

/** Returns the items of a call that has succeeded as a whole, each with its part of the result. */
function itemsOf(ids: readonly string[], data: Value): Fields[] {
  const fits = (v: Value): v is Value[] => Array.isArray(v) && v.length === ids.length;
  const list = Array.isArray(data) ? [data].find(fits) : Object.values(fieldsOr(data)).find(fits);
  return ids.map((id, i) => {
    const value = list ? list[i] : ids.length === 1 ? data : undefined;
    return value === undefined ? { id } : { id, value };
  });
}

const bareWords: { readonly [word: string]: Value } = { True: true, False: false, None: null };

/** Reads a call as texts name it: study_get(study_id="s-1", lean=True). */
function parseCall(text: string): { readonly tool: string; readonly args: Fields } | undefined {
  const [, tool, inner = ""] = /^\s*([^\s"'=,(]+)\((.*)\)\s*$/s.exec(text) ?? [];
  if (tool === undefined) return undefined;
  const args: Fields = {};
  let rest = inner.trim();
  while (rest) {
    const [head, name] = /^([^\s"',()=]+)\s*=\s*/.exec(rest) ?? [];
    if (head === undefined || name === undefined) return undefined;
    rest = rest.slice(head.length);
    const end = valueEnd(rest);
    if (end === undefined) return undefined;
    const word = rest.slice(0, end);
    const value = Object.hasOwn(bareWords, word) ? bareWords[word] : word.startsWith("'") ? word.slice(1, -1) : parsed(word);
    put(args, name, value);
    rest = rest.slice(end).trim();
    if (rest && !rest.startsWith(",")) return undefined;
    rest = rest.slice(1).trim();
  }
  return { tool, args };
}

/** Returns where the value ends that a text begins with. */
function valueEnd(text: string): number | undefined {
  const plainValue = /^(?:True|False|None|'[^'\\]*'|"(?:[^"\\]|\\.)*"|[^\s,\[\]{}"']+)/.exec(text)?.[0];
  if (plainValue !== undefined) return Object.hasOwn(bareWords, plainValue) || plainValue.startsWith("'") || parsed(plainValue) !== undefined ? plainValue.length : undefined;
  for (let end = 1; end <= text.length; end++) {
    if (/[\]}]/.test(text.charAt(end - 1)) && parsed(text.slice(0, end)) !== undefined) return end;
  }
  return undefined;
}
