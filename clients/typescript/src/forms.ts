import { isCodeWord } from "./choose.js";
import { complete } from "./complete.js";
import { cut } from "./read.js";
import { type Fields, fieldsOr, isObject, isText, own, parsed, set, textOr, type Value } from "./record.js";
import { fits, fitsWhole, isCode, isConstant, maxItems, readRecord, readShape, store } from "./shapes.js";
import type { Tables } from "./tables.js";
import { frames, match, partsOf } from "./templates.js";

/** Reads an object of the contract. */
export function readOwn(c: Tables, { shape }: Fields, raw: Value, e: Fields): boolean {
  if (!isObject(shape)) return Object.assign(e, readRecord(raw))["contract"] === c.name;
  if (!isObject(shape) || !fits(shape, raw)) return false;
  readShape(c, shape, raw, e, e);
  if (c.table.silence !== undefined) e["retryable"] ??= c.table.silence;
  return true;
}

/** Returns the record of an object of the contract. */
function ownObject(c: Tables, layout: Fields, raw: Value, sure: boolean): Fields | undefined {
  const e: Fields = {};
  sure ||= Object.values(fieldsOr(layout["shape"])).some(isConstant);
  return readOwn(c, layout, raw, e) && (sure || c.byCode.has(textOr(e["code"]))) ? e : undefined;
}

/** Returns the record of a text of the contract, of either block. */
function ownText(c: Tables, layout: Fields, text: string, sure: boolean): Fields | undefined {
  const { line } = layout;
  const e = isText(line) ? ownLine(c, layout, line, text, sure) : ownObject(c, layout, parsed(text), sure);
  const found = e || !isText(layout["human"]) ? undefined : match(layout["human"], text);
  if (!found) return e;
  const said: Fields = {};
  store(said, found);
  return identify(c, said, textOr(said["message"]), sure);
}

/** Reads a line with its hints and its envelope. */
function ownLine(
  c: Tables, { envelope, hints }: Fields, line: string, text: string, sure: boolean,
): Fields | undefined {
  const e: Fields = {};
  let enveloped: Value;
  const mark = textOr(own(envelope, "mark"));
  const at = mark ? text.lastIndexOf(mark) : -1;
  if (at >= 0 && readShape(c, fieldsOr(own(envelope, "shape")), parsed(text.slice(at + mark.length)), e, e)) {
    text = text.slice(0, at);
    enveloped = e["code"];
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
  if (!found?.some(([path]) => isCode(path))) return found && identify(c, e, text, sure);
  const word = textOr(e["code"]);
  if (c.open && isCodeWord(word) && (sure || enveloped === word)) return e;
  return c.byCode.has(word) ? e : undefined;
}

/** Finds the code whose own sentence is in a text, the longest first. */
function identify(c: Tables, e: Fields, text: string, sure: boolean): Fields | undefined {
  let longest = 0;
  for (const entry of c.codes) {
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

/** Reads an answer in the contract's own forms, and in other known c.table.forms. */
export function readForms(c: Tables, text: string, objects: readonly Value[], sure: boolean): Fields | undefined {
  for (const raw of objects) {
    const form = c.table.forms.find(({ shape }) => isObject(shape) && fitsWhole(shape, raw));
    if (form) {
      const e = withConstants({}, form["set"]);
      readShape(c, fieldsOr(form["shape"]), raw, e, e);
      return complete(c, e, undefined, e["kind"]); // it says one because its code leaves it open
    }
    const shaped = c.table.layouts.filter((layout) => layout["shape"]);
    const e = shaped.map((layout) => ownObject(c, layout, raw, sure)).find(isObject);
    if (e) return complete(c, e);
  }
  const e = text ? c.table.layouts.map((layout) => ownText(c, layout, text, sure)).find(isObject) : undefined;
  if (e || !text || !sure) return e && complete(c, e);
  for (const form of c.table.forms) {
    const found = isText(form["text"]) ? match(form["text"], text) : undefined;
    if (!found) continue;
    const said = withConstants({ message: cut(text) }, form["set"]);
    store(said, found);
    return complete(c, said);
  }
  return undefined;
}

function withConstants(e: Fields, constants: Value): Fields {
  for (const [path, value] of Object.entries(fieldsOr(constants))) set(e, path, value);
  return e;
}
