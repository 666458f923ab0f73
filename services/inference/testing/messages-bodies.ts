// Conversations in other formats, and the messages bodies built from them.
import { checkMessages } from '../../../tests/upstream/checks/check-messages.js';
import { currentRules } from '../../../tests/upstream/checks/rules.js';
import { GenerateRequest, Role } from '#proto/inference/v1/inference.js';
import { messagesBody } from '../upstreams/messages/request.js';

/** The fields of a request that a test sets. */
export type PartialRequest = NonNullable<Parameters<typeof GenerateRequest.fromPartial>[0]>;
type Parts = NonNullable<NonNullable<NonNullable<PartialRequest['prompt']>['messages']>[number]['parts']>;

/** The fields of a messages body that tests look at. */
export interface MessagesBody {
  readonly system?: { text: string; cache_control?: unknown }[];
  readonly messages: { role: string; content: Record<string, unknown>[] }[];
  readonly [field: string]: unknown;
}

/** Short names for the roles. */
export const { ROLE_USER: user, ROLE_ASSISTANT: assistant, ROLE_SYSTEM: system } = Role;
/** A part with text and an optional cache mark. */
export const text = (value: string, cacheTtl?: string) => ({ part: { $case: 'text' as const, value: { text: value } }, cacheTtl });
/** A part with a tool call. */
export const call = (id: string, name = 'f', argumentsJson = '{}') => ({
  part: { $case: 'toolCall' as const, value: { id, name, argumentsJson } },
});
/** A part with a tool's result. */
export const result = (toolCallId: string, value = 'ok') => ({
  part: { $case: 'toolResult' as const, value: { toolCallId, text: value } },
});
/** A part with a thought that has this signature. */
export const thought = (signature: string) => ({ part: { $case: 'reasoning' as const, value: { text: 'Hm', signature } } });
/** A message. */
export const says = (role: Role, ...parts: Parts) => ({ role, parts });
/** The shortest conversation. */
export const hi = says(user, text('Hi'));
/** One tool. */
export const tools = [{ name: 'f', parametersJson: '{"type":"object","properties":{}}' }];

/** Returns the body that is sent for a model of this name. */
export function sentBody(request: PartialRequest, model = 'm'): { body: MessagesBody; dropped: readonly string[] } {
  const { json, dropped } = messagesBody(GenerateRequest.fromPartial({ maxOutputTokens: 8000, ...request }), model);
  return { body: JSON.parse(json) as MessagesBody, dropped };
}

/** Returns the same as `sentBody`. Raises Refused if the vendor would refuse it. */
export function acceptedBody(request: PartialRequest, model = 'm'): ReturnType<typeof sentBody> {
  const sent = sentBody(request, model);
  checkMessages(sent.body, '2023-06-01', currentRules);
  return sent;
}
