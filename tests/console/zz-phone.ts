import { createSampleAccount } from './sample-account.js';
import { follow, newMember, newPerson, settledPage, startChromium } from '../support/chromium.js';
import { startSystem } from '../support/system.js';
const system = await startSystem('single');
const chromium = await startChromium();
try {
  const s = await createSampleAccount(system);
  const p = await newMember(chromium, system, s.owner, { width: 375, height: 812 });
  const page = await p.open('/nowhere');
  const a = `/accounts/${s.accountId}`;
  const list: [string, string][] = [
    ['home', a],
    ['keys', a + '/keys'],
    ['key', `${a}/keys/${s.keyId}`],
    ['projects', a + '/projects'],
    ['project', `${a}/projects/${s.projectId}`],
    ['usage', a + '/usage'],
    ['records', a + '/usage/records'],
    ['record', `${a}/usage/records/${s.requestId}`],
    ['refusals', a + '/usage/refusals'],
    ['billing', a + '/billing'],
    ['statement', `${a}/billing/statements/${new Date().toISOString().slice(0, 7)}`],
    ['playground', a + '/playground'],
    ['members', a + '/members'],
    ['audit', a + '/audit'],
    ['op-accounts', '/operator/accounts'],
    ['op-account', `/operator/accounts/${s.accountId}`],
    ['op-models', '/operator/models'],
    ['op-model', '/operator/models/sandbox/story'],
    ['op-upstreams', '/operator/upstreams'],
    ['op-health', '/operator/health'],
    ['op-codes', '/operator/codes'],
    ['op-users', '/operator/users'],
  ];
  for (const [name, path] of list) {
    await follow(page, path);
    await settledPage(page);
    await page.waitForTimeout(300);
    await page.screenshot({ path: `/tmp/tk/shots/${name}.png`, fullPage: true });
  }
} finally {
  await chromium.close();
  await system.stop();
}
