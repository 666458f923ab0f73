// Maps the format's stop reasons to the common ones. Pure.
import { StopReason } from '#proto/inference/v1/inference.js';

const stopReasons: Readonly<Record<string, StopReason>> = {
  max_tokens: StopReason.STOP_REASON_MAX_TOKENS,
  stop_sequence: StopReason.STOP_REASON_STOP_SEQUENCE,
  refusal: StopReason.STOP_REASON_REFUSAL,
  model_context_window_exceeded: StopReason.STOP_REASON_CONTEXT_FULL,
};

/**
 * Reports whether the common stop reason fully expresses the label. Other labels (pause_turn, compaction …) are readable only for callers of the format,
 * and so is a tool_use label without a tool call in the answer.
 */
export function isCommonStopReason(label: string, written: ReadonlySet<string>): boolean {
  if (label === 'tool_use') return written.has('toolCall');
  return label === '' || label === 'end_turn' || Object.hasOwn(stopReasons, label);
}

/** Returns the common stop reason. A tool call in the answer decides if the label only says that the model was done. */
export function stopReasonOf(label: string, written: ReadonlySet<string>): StopReason {
  const known = Object.hasOwn(stopReasons, label) ? stopReasons[label] : undefined;
  return known ?? (written.has('toolCall') ? StopReason.STOP_REASON_TOOL_CALLS : StopReason.STOP_REASON_END);
}
