// Names of the units of a price: the classes of tokens, and other units.
import { dictionary, useText } from './text.js';

const unitsText = dictionary(
  {
    input: 'Input',
    cache_read: 'Cache read',
    cache_write_5m: 'Cache write, 5 min',
    cache_write_1h: 'Cache write, 1 h',
    output: 'Output',
    reasoning: 'Reasoning',
    request: 'Request',
    web_search: 'Web search',
    image: 'Image',
    second: 'Second',
  },
  {
    input: '输入',
    cache_read: '缓存读取',
    cache_write_5m: '缓存写入（5 分钟）',
    cache_write_1h: '缓存写入（1 小时）',
    output: '输出',
    reasoning: '推理',
    request: '请求',
    web_search: '网页搜索',
    image: '图片',
    second: '秒',
  },
);

/** Returns the name of a unit: its own, unless Tollgate has one for it. */
export function useUnitName(): (unit: string) => string {
  const t = useText(unitsText);
  return (unit) => (Object.hasOwn(t, unit) ? t[unit as keyof typeof t] : unit.replaceAll('_', ' '));
}
