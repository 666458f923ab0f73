// Texts of the command palette.
import { dictionary } from './text.js';

export const paletteText = dictionary(
  {
    shortcutGoTo: 'Go anywhere by name or ID',
    goToHint: 'A page, key, model, account, or request ID',
    requestIdHint: 'A request ID opens the call as soon as it is complete.',
    places: 'Results',
    placesFound: ({ count }: { count: number }) => (count === 1 ? '1 result' : `${count} results`),
    placesNone: 'No results. Search for a page, key, model or account by name, or enter a complete request ID.',
    searching: 'Searching…',
    createKey: 'Create key',
    'kind.page': 'page',
    'kind.action': 'action',
    'kind.key': 'API key',
    'kind.account': 'account',
    'kind.model': 'model',
  },
  {
    shortcutGoTo: '按名称或 ID 前往任意页面',
    goToHint: '页面、密钥、模型、账户或请求 ID',
    requestIdHint: '输入完整的请求 ID 后会立即打开该调用。',
    places: '结果',
    placesFound: ({ count }) => `${count} 个结果`,
    placesNone: '没有结果。请按名称搜索页面、密钥、模型或账户，或输入完整的请求 ID。',
    searching: '搜索中…',
    createKey: '创建密钥',
    'kind.page': '页面',
    'kind.action': '操作',
    'kind.key': 'API 密钥',
    'kind.account': '账户',
    'kind.model': '模型',
  },
);
