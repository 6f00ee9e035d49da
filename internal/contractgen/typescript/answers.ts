// ---- What answers tell of writes, items and work.

/** Returns the data of a tool result: its structured content, or the JSON of its first text. */
function dataOf(result: unknown): Value {
  const r = copyOfEach(result);
  const data = r["structuredContent"];
  return isObject(data) ? data : parsed(textOr(child(child(r["content"], "0"), "text")));
}

/** Says whether a write has landed, by the data of the verify call; undefined where that is open. */
function hasLanded(rule: Landed, args: Arguments, data: Value): boolean | undefined {
  if (data === undefined) return rule.exists === undefined ? undefined : !rule.exists;
  const { found, reached } = find(data, rule.path);
  if (rule.exists !== undefined) return reached ? found.length > 0 === rule.exists : undefined;
  const want = rule.pointer === undefined ? (rule.is as Value) : find(copyOf(args), rule.pointer).found[0];
  if (want === undefined || !reached || (!rule.contains && found.length === 0)) return undefined;
  return found.some((value) => same(value, want) || (rule.contains === true && holdsValue(value, want)));
}

/** Says whether a text holds another, a list an item, or an object the members of another. */
function holdsValue(value: Value, want: Value): boolean {
  if (isText(value)) return isText(want) && value.includes(want);
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
  const values = list ?? (ids.length === 1 ? [data] : []);
  return ids.map((id, i) => (values[i] === undefined ? { id } : { id, value: values[i] }));
}

const bareWords: Fields = { True: true, False: false, None: null };

/** Reads a call as texts name it: study_get(study_id="s-1", lean=True). */
function parseCall(text: string): { readonly tool: string; readonly args: Fields } | undefined {
  const [, tool, inner = ""] = /^\s*([^\s"'=,(]+)\((.*)\)\s*$/s.exec(text) ?? [];
  const args: Fields = {};
  for (let rest = inner.trim() && "," + inner; rest.trim(); ) {
    const [head = "", name] = /^\s*,\s*([^\s"',()=]+)\s*=\s*/.exec(rest) ?? [];
    rest = rest.slice(head.length);
    // A value ends before a comma, or at the end: the first such place at which it is one.
    const ends = [...rest.matchAll(/,|$/g)].map((m) => rest.slice(0, m.index).trim());
    const isValue = (one: string): boolean => Object.hasOwn(bareWords, one) || parsed(one) !== undefined;
    const word = ends.find((one) => isValue(one) || /^'[^'\\]*'$/.test(one));
    if (name === undefined || word === undefined) return undefined;
    const value = word.startsWith("'") ? word.slice(1, -1) : parsed(word);
    put(args, name, Object.hasOwn(bareWords, word) ? bareWords[word] : value);
    rest = rest.slice(rest.indexOf(word) + word.length);
  }
  return tool === undefined ? undefined : { tool, args };
}
