// Why an answer ended, in the words of the format and in common ones. Pure.
import { StopReason } from '#proto/inference/v1/inference.js';

const stopReasons: Readonly<Record<string, StopReason>> = {
  max_tokens: StopReason.STOP_REASON_MAX_TOKENS,
  stop_sequence: StopReason.STOP_REASON_STOP_SEQUENCE,
  refusal: StopReason.STOP_REASON_REFUSAL,
  model_context_window_exceeded: StopReason.STOP_REASON_CONTEXT_FULL,
};

/**
 * Whether the common stop reason says all that the label does. Other labels (pause_turn, compaction …) only callers of the format can read,
 * and so with a call of a tool that was not written as one.
 */
export function isCommonStopReason(label: string, written: ReadonlySet<string>): boolean {
  if (label === 'tool_use') return written.has('toolCall');
  return label === '' || label === 'end_turn' || Object.hasOwn(stopReasons, label);
}

/** The common stop reason. A tool call that was written decides where the label only says that the model was done. */
export function stopReasonOf(label: string, written: ReadonlySet<string>): StopReason {
  const known = Object.hasOwn(stopReasons, label) ? stopReasons[label] : undefined;
  return known ?? (written.has('toolCall') ? StopReason.STOP_REASON_TOOL_CALLS : StopReason.STOP_REASON_END);
}
