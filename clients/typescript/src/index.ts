export { type Advice } from "./answers.js";
export { Contract, recover, recoverConnect } from "./contract.js";
export { builtin } from "./contracts.js";
export type { Decision, Nature } from "./decide.js";
export { kinds, metaKey } from "./kinds.js";
export {
  CallFailed, type Called, type Caller, InputNeeded, type RecoverOptions, type Step, type Tool, type Verification,
  withKey,
} from "./options.js";
export type { HeadersLike, Reading } from "./read.js";
export { Server } from "./server.js";
export { type CodeEntry, ContractError } from "./tables.js";
export type { Arguments, Basis, Effect, Failure, Kind, Origin, Question, Retry, ToolResult, Verify } from "./types.js";
export type { Answer, At, Call, Headers, RPCError } from "./write.js";
