// The official libraries in the versions in common use: the current major version and the previous one.
import Anthropic from '@anthropic-ai/sdk';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import AnthropicPrevious from 'anthropic-previous';
import { zodOutputFormat as zodOutputFormatPrevious } from 'anthropic-previous/helpers/zod';
import { betaZodTool as betaZodToolPrevious } from 'anthropic-previous/helpers/beta/zod';
import OpenAI from 'openai';
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import OpenAIPrevious from 'openai-previous';
import { zodFunction as zodFunctionPrevious, zodResponseFormat as zodResponseFormatPrevious } from 'openai-previous/helpers/zod';

/** `openai`. The tests use only what both major versions have, so the older one is used with the types of the newer. */
export const openaiLibraries = [
  { name: 'openai 7', OpenAI, zodFunction, zodResponseFormat },
  {
    name: 'openai 6',
    OpenAI: OpenAIPrevious as unknown as typeof OpenAI,
    zodFunction: zodFunctionPrevious as unknown as typeof zodFunction,
    zodResponseFormat: zodResponseFormatPrevious as unknown as typeof zodResponseFormat,
  },
] as const;

/** `@anthropic-ai/sdk`. The older sends its key as `x-api-key` and version 2023-06-01, the newer a bearer token and version 2026-10-21. */
export const anthropicLibraries = [
  { name: '@anthropic-ai/sdk 1', Anthropic, zodOutputFormat, betaZodTool },
  {
    name: '@anthropic-ai/sdk 0',
    Anthropic: AnthropicPrevious as unknown as typeof Anthropic,
    zodOutputFormat: zodOutputFormatPrevious as unknown as typeof zodOutputFormat,
    betaZodTool: betaZodToolPrevious as unknown as typeof betaZodTool,
  },
] as const;
