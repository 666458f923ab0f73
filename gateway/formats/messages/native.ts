// The caller's own messages body, for upstreams of this format.
import { type NativeRequest, WireFormat } from '#proto/inference/v1/inference.js';
import type { Demands } from '../demands.js';
import { fieldsWithout } from '../native-fields.js';
import type { BlockParam, MessageParam } from './block-schema.js';

/** What is ours to say, by this format's names or another's; ids of people and accounts among it. */
export const oursToSay = ['model', 'stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'metadata', 'user', 'safety_identifier'];

/** The body without what is ours and without these fields, and with all that was gathered while reading it. */
export function nativeMessages(body: { messages: readonly MessageParam[] }, without: Iterable<string>, messagesBetas: string[], demands: Demands): NativeRequest {
  return {
    format: WireFormat.WIRE_FORMAT_MESSAGES,
    fieldsJson: fieldsWithout({ ...body, messages: withSignedThinkingOnly(body.messages) }, [...oursToSay, ...without]),
    messagesBetas,
    droppedElsewhere: demands.droppedElsewhere.names,
    refusedElsewhere: demands.refusedElsewhere,
  };
}

/** Thinking without a signature is another vendor's, and would be refused; a message of nothing else goes with it. */
function withSignedThinkingOnly(messages: readonly MessageParam[]): readonly unknown[] {
  const isUnsigned = (block: BlockParam): boolean => block.type === 'thinking' && !block.signature;
  const hasUnsigned = ({ role, content }: MessageParam): boolean => role === 'assistant' && typeof content !== 'string' && content.some(isUnsigned);
  if (!messages.some(hasUnsigned)) return messages;
  return messages.flatMap<unknown>((message) => {
    if (!hasUnsigned(message)) return [message];
    const content = (message.content as readonly BlockParam[]).filter((block) => !isUnsigned(block));
    return content.length === 0 ? [] : [{ ...message, content }];
  });
}
