// Converts the deprecated parts of the format – functions, function_call and the role "function" – to the current ones, so that the rest of the code
// handles only tools. Answers use the current form too.
import { fieldError } from '../requests/body-reader.js';
import type { ChatMessage, ChatMessageParam } from './message-schema.js';
import type { ChatCompletionParams, ChatCompletionRequest } from './schema.js';
import type { ToolChoiceParam } from './tool-schema.js';

/** Returns the body without the deprecated parts; the same body if it has none. Raises invalid_request for a result without its call. */
export function upgradeFunctions(body: ChatCompletionParams): ChatCompletionRequest {
  const { functions, function_call: choice, ...rest } = body;
  const messages = upgradeMessages(body.messages);
  if (functions === undefined && choice === undefined) return { ...rest, messages };
  const upgraded: ChatCompletionRequest = { ...rest, messages };
  if (functions !== null && functions !== undefined) {
    upgraded.tools = [...(body.tools ?? []), ...functions.map((each) => ({ type: 'function' as const, function: each }))];
  }
  if (choice !== null && choice !== undefined) upgraded.tool_choice = body.tool_choice ?? upgradeChoice(choice);
  return upgraded;
}

function upgradeChoice(choice: NonNullable<ChatCompletionParams['function_call']>): ToolChoiceParam {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } };
}

function upgradeMessages(messages: readonly ChatMessageParam[]): readonly ChatMessage[] {
  if (!messages.some(isDeprecated)) return messages as readonly ChatMessage[];
  // The deprecated result does not name a call: it answers the latest one.
  let openCall: string | undefined;
  return messages.map((message, index): ChatMessage => {
    if (message.role === 'function') {
      if (openCall === undefined)
        throw fieldError(
          'invalid_request',
          `messages[${index}].role`,
          '"function" must follow an assistant message with function_call; use tool_calls and role "tool"',
        );
      const { role: _role, content, ...rest } = message;
      const result = { ...rest, role: 'tool' as const, content: content ?? '', tool_call_id: openCall };
      openCall = undefined;
      return result;
    }
    if (!isDeprecated(message)) return message;
    const { function_call: call, ...rest } = message;
    // Derived from its position, so that a conversation sent again is identical for a vendor's prompt cache.
    openCall = `call_function_${index}`;
    return { ...rest, tool_calls: [...(rest.tool_calls ?? []), { id: openCall, type: 'function', function: call! }] };
  });
}

type DeprecatedMessage = Extract<ChatMessageParam, { role: 'assistant' | 'function' }>;

function isDeprecated(message: ChatMessageParam): message is DeprecatedMessage {
  return (
    message.role === 'function' || (message.role === 'assistant' && message.function_call !== null && message.function_call !== undefined)
  );
}
