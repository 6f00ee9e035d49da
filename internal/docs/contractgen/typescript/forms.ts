// ---- Reading in the contract's forms.

/** Reads an object of the contract. */
function readOwn({ shape }: Fields, raw: Value, e: Fields): boolean {
//{{if has "contract.record"}}
  if (!isObject(shape)) return Object.assign(e, readRecord(raw))["contract"] === contract.name;
//{{end}}
  if (!isObject(shape) || !fits(shape, raw)) return false;
  readShape(shape, raw, e, e);
//{{if has "contract.silence"}}
  e["retryable"] ??= contract.silence;
//{{end}}
  return true;
}

/** Returns the record of an object of the contract. */
function ownObject(layout: Fields, raw: Value, sure: boolean): Fields | undefined {
  const e: Fields = {};
//{{if has "is"}}
  sure ||= Object.values(fieldsOr(layout["shape"])).some(isConstant);
//{{end}}
  return readOwn(layout, raw, e) && (sure || byCode.has(textOr(e["code"]))) ? e : undefined;
}

//{{if has "layouts.line" "layouts.human"}}
/** Returns the record of a text of the contract, of either block. */
function ownText(layout: Fields, text: string, sure: boolean): Fields | undefined {
//{{if has "layouts.line"}}
//{{if has "code.open" "code.message"}}
  const { line } = layout;
  const e = isText(line) ? ownLine(layout, line, text, sure) : ownObject(layout, parsed(text), sure);
//{{else}}
  const { line } = layout;
  const e = isText(line) ? ownLine(layout, line, text) : ownObject(layout, parsed(text), sure);
//{{end}}
//{{else}}
  const e = ownObject(layout, parsed(text), sure);
//{{end}}
//{{if and (has "layouts.human") (has "code.message")}}
  const found = e || !isText(layout["human"]) ? undefined : match(layout["human"], text);
  if (!found) return e;
  const said: Fields = {};
  store(said, found);
  return identify(said, textOr(said["message"]), sure);
//{{else}}
  return e;
//{{end}}
}

//{{end}}
//{{if has "layouts.line"}}
/** Reads a line with its hints and its envelope. */
//{{if has "code.open" "code.message"}}
function ownLine({ envelope, hints }: Fields, line: string, text: string, sure: boolean): Fields | undefined {
//{{else}}
function ownLine({ envelope, hints }: Fields, line: string, text: string): Fields | undefined {
//{{end}}
  const e: Fields = {};
//{{if has "code.open"}}
  let enveloped: Value;
//{{end}}
  const mark = textOr(own(envelope, "mark"));
  const at = mark ? text.lastIndexOf(mark) : -1;
  if (at >= 0 && readShape(fieldsOr(own(envelope, "shape")), parsed(text.slice(at + mark.length)), e, e)) {
    text = text.slice(0, at);
//{{if has "code.open"}}
    enveloped = e["code"];
//{{end}}
  }
  if (isObject(hints)) { // on lines of their own they are told from the sentence, which goes on with two spaces
    const before = textOr(hints["before"]);
    const lines = before === "\n";
    const cut = lines ? text.search(/\n(?! {2})/) : text.indexOf(before);
    const given = cut < 0 ? [] : text.slice(cut + before.length).split(textOr(hints["between"]), maxItems);
    set(e, "hints:texts", e["hints"] ?? given.filter((hint) => hint.trim()));
    text = cut < 0 ? text : text.slice(0, cut);
    text = lines ? text.replaceAll("\n  ", "\n") : text;
  }
  const found = match(line, text);
  store(e, found);
//{{if has "code.message"}}
  if (!found?.some(([path]) => isCode(path))) return found && identify(e, text, sure);
//{{else}}
  if (!found?.some(([path]) => isCode(path))) return undefined;
//{{end}}
  const word = textOr(e["code"]);
//{{if has "code.open"}}
  if (open && isCodeWord(word) && (sure || enveloped === word)) return e;
//{{end}}
  return byCode.has(word) ? e : undefined;
}

//{{end}}
//{{if has "code.message"}}
/** Finds the code whose own sentence is in a text, the longest first. */
function identify(e: Fields, text: string, sure: boolean): Fields | undefined {
  let longest = 0;
  for (const entry of codes) {
    for (const template of entry.message ?? []) {
      const fixed = partsOf(template).flatMap((p) => (p.path === undefined ? [p.text] : []));
      const [first = "", last = first] = [fixed[0], fixed.at(-1)];
      const from = Math.max(text.indexOf(first), 0); // it may stand anywhere in the text
      const sentence = frames(template) ? text : text.slice(from, text.lastIndexOf(last) + last.length);
      const mine = frames(template) ? sure : !entry.http || (sentence === text && text.includes(" "));
      if (fixed.join("").length <= longest || !mine || !match(template, sentence)) continue;
      longest = fixed.join("").length;
      Object.assign(e, { code: entry.code, message: sentence });
    }
  }
  return longest > 0 ? e : undefined;
}

//{{end}}
/** Reads an answer in the contract's own forms, and in other known forms. */
function readForms(text: string, objects: readonly Value[], sure: boolean): Fields | undefined {
//{{if has "layouts.line" "layouts.human" "contract.forms"}}
  for (const raw of objects) {
//{{if has "contract.forms"}}
    const form = forms.find(({ shape }) => isObject(shape) && fitsWhole(shape, raw));
    if (form) {
      const e = withConstants({}, form["set"]);
      readShape(fieldsOr(form["shape"]), raw, e, e);
      return complete(e, undefined, e["kind"]); // it says one because its code leaves it open
    }
//{{end}}
    const e = layouts.map((layout) => (layout["shape"] ? ownObject(layout, raw, sure) : undefined)).find(isObject);
    if (e) return complete(e);
  }
//{{if has "layouts.line" "layouts.human"}}
  const e = text ? layouts.map((layout) => ownText(layout, text, sure)).find(isObject) : undefined;
//{{else}}
  const e = text ? layouts.map((layout) => ownObject(layout, parsed(text), sure)).find(isObject) : undefined;
//{{end}}
//{{if has "contract.forms"}}
  if (e || !text || !sure) return e && complete(e);
  for (const form of forms) {
    const found = isText(form["text"]) ? match(form["text"], text) : undefined;
    if (!found) continue;
    const said = withConstants({ message: cut(text) }, form["set"]);
    store(said, found);
    return complete(said);
  }
  return undefined;
//{{else}}
  return e && complete(e);
//{{end}}
//{{else}}
  const raws = [...objects, parsed(text)];
  const e = raws.flatMap((raw) => layouts.map((layout) => ownObject(layout, raw, sure))).find(isObject);
  return e && complete(e);
//{{end}}
}

function withConstants(e: Fields, constants: Value): Fields {
  for (const [path, value] of Object.entries(fieldsOr(constants))) set(e, path, value);
  return e;
}
