// The reasoning and the response format of a messages request → the common call.
import type { Reasoning, ResponseFormat } from '#proto/inference/v1/inference.js';
import type { Reading } from './reading.js';
import { type CountTokensRequest, OutputConfig } from './schema.js';

const efforts = ['low', 'medium', 'high', 'xhigh', 'max'];

/** Translates `thinking` and `output_config.effort`. */
export function translateReasoning({ thinking, output_config: output }: CountTokensRequest, { demands }: Reading): Reasoning | undefined {
  if (output !== null && output !== undefined) demands.addUnhonoured(output, OutputConfig, 'output_config.');
  const effort = output?.effort ?? '';
  const isKnown = effort === '' || efforts.includes(effort);
  if (!isKnown) demands.refuseElsewhere('output_config.effort', `must be one of ${efforts.join(', ')}`);
  const common = { effort: isKnown ? effort : '', budgetTokens: undefined, disabled: false };
  if (thinking === null || thinking === undefined) return effort === '' ? undefined : common;
  if ('display' in thinking && thinking.display !== null && thinking.display !== undefined)
    demands.droppedElsewhere.add('thinking.display');
  switch (thinking.type) {
    case 'enabled':
      return { ...common, budgetTokens: thinking.budget_tokens };
    case 'adaptive':
      return common;
    case 'between_tools':
      // In other formats the model decides where it thinks.
      demands.droppedElsewhere.add('thinking.between_tools');
      return common;
    case 'disabled':
      // Other vendors reject a request that disables reasoning and sets an effort; disabling it takes precedence.
      if (effort !== '') demands.droppedElsewhere.add('output_config.effort');
      return { effort: '', budgetTokens: undefined, disabled: true };
    default:
      demands.addForeign(thinking);
      demands.refuseElsewhere('thinking.type', 'the model accepts enabled, adaptive, between_tools or disabled');
      return undefined;
  }
}

/** Translates `output_config.format`, or `output_format`, its previous name. */
export function translateFormat(
  { output_config: output, output_format: older }: CountTokensRequest,
  { demands }: Reading,
): ResponseFormat | undefined {
  const format = output?.format ?? older;
  if (format === null || format === undefined) return undefined;
  demands.addForeign(format);
  if (format.type === 'json_schema') {
    return { format: { $case: 'jsonSchema', value: { name: '', description: '', schemaJson: JSON.stringify(format.schema) } } };
  }
  const field = format === older ? 'output_format' : 'output_config.format';
  demands.refuseElsewhere(`${field}.type`, 'the model accepts json_schema');
  return undefined;
}
