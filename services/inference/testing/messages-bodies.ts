// Conversations of other formats, and the messages bodies that are made of them.
import { checkMessages } from '../../../tests/upstream/check-messages.js';
import { currentRules } from '../../../tests/upstream/rules.js';
import { GenerateRequest, Role } from '#proto/inference/v1/inference.js';
import { messagesBody } from '../upstreams/messages/request.js';

/** What of a request a test sets. */
export type PartialRequest = NonNullable<Parameters<typeof GenerateRequest.fromPartial>[0]>;
type Parts = NonNullable<NonNullable<NonNullable<PartialRequest['prompt']>['messages']>[number]['parts']>;

/** As far as tests look into it. */
export interface MessagesBody {
  readonly system?: { text: string; cache_control?: unknown }[];
  readonly messages: { role: string; content: Record<string, unknown>[] }[];
  readonly [field: string]: unknown;
}

/** The roles, in short. */
export const { ROLE_USER: user, ROLE_ASSISTANT: assistant, ROLE_SYSTEM: system } = Role;
/** A part with text, and with a cache mark. */
export const text = (value: string, cacheTtl?: string) => ({ part: { $case: 'text' as const, value: { text: value } }, cacheTtl });
/** A part with a tool call. */
export const call = (id: string, name = 'f', argumentsJson = '{}') => ({
  part: { $case: 'toolCall' as const, value: { id, name, argumentsJson } },
});
/** A part with a tool's result. */
export const result = (toolCallId: string, value = 'ok') => ({
  part: { $case: 'toolResult' as const, value: { toolCallId, text: value } },
});
/** A part with a thought of this signature. */
export const thought = (signature: string) => ({ part: { $case: 'reasoning' as const, value: { text: 'Hm', signature } } });
/** A message. */
export const says = (role: Role, ...parts: Parts) => ({ role, parts });
/** The shortest conversation. */
export const hi = says(user, text('Hi'));
/** One tool. */
export const tools = [{ name: 'f', parametersJson: '{"type":"object","properties":{}}' }];

/** The body that a model of this name is sent. */
export function sentBody(request: PartialRequest, model = 'm'): { body: MessagesBody; dropped: readonly string[] } {
  const { json, dropped } = messagesBody(GenerateRequest.fromPartial({ maxOutputTokens: 8000, ...request }), model);
  return { body: JSON.parse(json) as MessagesBody, dropped };
}

/** The same; raises Refused where the vendor would refuse it. */
export function acceptedBody(request: PartialRequest, model = 'm'): ReturnType<typeof sentBody> {
  const sent = sentBody(request, model);
  checkMessages(sent.body, '2023-06-01', currentRules);
  return sent;
}
